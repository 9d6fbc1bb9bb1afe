// SPDX-License-Identifier: Apache-2.0

// Package outlets tests the outlets with each other over real fabrics: the
// kernel behind a TAP, gVisor, and unmodified programs behind a proxy.
package outlets

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/vishvananda/netns"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/tbnet2/tbnet2/fabric"
	"github.com/tbnet2/tbnet2/rail/netnstest"
	"github.com/tbnet2/tbnet2/rail/packet"
	"github.com/tbnet2/tbnet2/tap"
	"github.com/tbnet2/tbnet2/userstack"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// outlet is a host's sockets, whichever TCP/IP is behind them.
type outlet interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
	Listen(network, address string) (net.Listener, error)
}

// host is one host of a pair.
type host struct {
	tb   testing.TB
	ns   netns.NsHandle
	ip   string
	fab  *fabric.Fabric
	tap  *tap.Device // nil for a gVisor host
	sock outlet
}

func id(name string) uuid.UUID { return uuid.NewSHA1(uuid.NameSpaceDNS, []byte(name)) }

// join makes two hosts in namespaces of their own, with rails veth pairs of an
// MTU (bytes) between them, and waits until all rails are up.
func join(tb testing.TB, rails, mtu int) (a, b *host) {
	tb.Helper()
	a, b = newHost(tb, "a", "10.78.0.1"), newHost(tb, "b", "10.78.0.2")
	for i := range rails {
		name := fmt.Sprintf("cable%d", i)
		netnstest.Veth(tb, a.ns, b.ns, name, name, mtu)
		a.addRail(name)
		b.addRail(name)
	}
	for _, h := range []*host{a, b} {
		wait(tb, fmt.Sprintf("%d rails up", rails), func() bool { return h.railsUp() == rails })
	}
	return a, b
}

func newHost(tb testing.TB, name, ip string) *host {
	tb.Helper()
	ns := netnstest.New(tb)
	f, err := fabric.New(fabric.Config{Host: id(name), HostName: name, Endpoint: 1, Retransmit: true})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = f.Close() })
	return &host{tb: tb, ns: ns, ip: ip, fab: f}
}

func (h *host) addRail(name string) {
	h.tb.Helper()
	d, err := packet.Open(packet.Config{Interface: name, NetNS: int(h.ns), Endpoint: 1, Bypass: true})
	if err == nil {
		err = h.fab.AddRail(d, fabric.RailOptions{})
	}
	if err != nil {
		h.tb.Fatal(err)
	}
}

func (h *host) railsUp() int {
	up := 0
	for _, p := range h.fab.Status().Peers {
		for _, r := range p.Rails {
			if r.State == "up" && r.MTU == min(r.LocalMTU, r.PeerMTU) {
				up++
			}
		}
	}
	return up
}

func (h *host) prefix() []netip.Prefix { return []netip.Prefix{netip.MustParsePrefix(h.ip + "/24")} }

// openTAP gives the host a TAP and the kernel's sockets. An mtu of 0 is the default.
func (h *host) openTAP(mtu int) *host {
	h.tb.Helper()
	d, err := tap.Open(tap.Config{Name: "tbbond0", NetNS: int(h.ns), MTU: mtu, MAC: tap.MAC(id(h.ip), "tbbond0"), Addrs: h.prefix()})
	if errors.Is(err, tap.ErrNoTUN) || errors.Is(err, fs.ErrPermission) && os.Getuid() != 0 {
		h.tb.Skipf("needs a TUN/TAP driver and access to it: %v", err)
	}
	if err == nil {
		err = d.Attach(h.fab.Port())
	}
	if err != nil {
		h.tb.Fatal(err)
	}
	h.tb.Cleanup(func() { // the fabric first, see Close
		_ = h.fab.Close()
		if err := d.Close(); err != nil {
			h.tb.Error(err)
		}
	})
	h.tap, h.sock = d, kernel{h}
	wait(h.tb, "carrier", d.Carrier)
	return h
}

// openStack gives the host gVisor's sockets.
func (h *host) openStack() *host {
	h.tb.Helper()
	s, err := userstack.New(h.fab.Port(), userstack.Config{Host: id(h.ip), Addresses: h.prefix()})
	if err != nil {
		h.tb.Fatal(err)
	}
	h.tb.Cleanup(func() { _ = s.Close() })
	h.sock = s
	return h
}

// kernel is the sockets of a host's namespace, with the congestion control that
// users run.
type kernel struct{ h *host }

func (k kernel) DialContext(ctx context.Context, network, address string) (c net.Conn, err error) {
	netnstest.Do(k.h.tb, k.h.ns, func() error {
		d := net.Dialer{Control: cubic}
		c, err = d.DialContext(ctx, network, address)
		return nil
	})
	return c, err
}

func (k kernel) Listen(network, address string) (l net.Listener, err error) {
	netnstest.Do(k.h.tb, k.h.ns, func() error {
		c := net.ListenConfig{Control: cubic}
		l, err = c.Listen(context.Background(), network, address)
		return nil
	})
	return l, err
}

func cubic(_, _ string, c syscall.RawConn) error {
	var inner error
	err := c.Control(func(fd uintptr) {
		inner = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, "cubic")
	})
	return errors.Join(err, inner)
}

// connect makes a TCP connection from one host to another.
func connect(tb testing.TB, from, to *host) (out, in net.Conn) {
	tb.Helper()
	l, err := to.sock.Listen("tcp", to.ip+":0")
	if err != nil {
		tb.Fatal(err)
	}
	defer l.Close()
	accepted := make(chan net.Conn, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			tb.Error(err)
		}
		accepted <- c
	}()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	out, err = from.sock.DialContext(ctx, "tcp", l.Addr().String())
	if err != nil {
		tb.Fatal(err)
	}
	in = <-accepted
	for _, c := range []net.Conn{out, in} {
		tb.Cleanup(func() { c.Close() })
		if err := c.SetDeadline(time.Now().Add(60 * time.Second)); err != nil {
			tb.Fatal(err)
		}
	}
	return out, in
}

// transfer sends n bytes that nobody can guess and compares hashes; halfway is
// called when half of them are on their way.
func transfer(out, in net.Conn, n int64, halfway func()) error {
	var sent [32]byte
	done := make(chan error, 1)
	go func() {
		h := sha256.New()
		src := rand.NewChaCha8([32]byte{byte(n)})
		w := struct{ io.Writer }{io.MultiWriter(out, h)}
		_, err := io.CopyBuffer(w, io.LimitReader(src, n/2), make([]byte, 256<<10))
		halfway()
		_, err2 := io.CopyBuffer(w, io.LimitReader(src, n-n/2), make([]byte, 256<<10))
		h.Sum(sent[:0])
		done <- errors.Join(err, err2, out.(interface{ CloseWrite() error }).CloseWrite())
	}()
	h := sha256.New()
	got, err := io.CopyBuffer(struct{ io.Writer }{h}, struct{ io.Reader }{in}, make([]byte, 256<<10))
	if err := errors.Join(err, <-done); err != nil {
		return err
	}
	if got != n || [32]byte(h.Sum(nil)) != sent {
		return fmt.Errorf("%d bytes arrived that are not the %d sent", got, n)
	}
	return nil
}

// wait polls until ok, or fails the test after a time far beyond what is due.
func wait(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	timeout := time.After(20 * time.Second)
	for !ok() {
		select {
		case <-tick.C:
		case <-timeout:
			tb.Fatalf("not within 20 s: %s", what)
		}
	}
}
