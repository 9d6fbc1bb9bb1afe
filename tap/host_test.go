// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"go.uber.org/goleak"
	"golang.org/x/net/icmp"
	"golang.org/x/net/ipv4"
	"golang.org/x/sys/unix"

	"github.com/tbnet2/tbnet2/rail/netnstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// host is a network namespace with a TAP in it.
type host struct {
	tb  testing.TB
	ns  netns.NsHandle
	h   *netlink.Handle
	dev *Device
	ip  string
}

func newHost(tb testing.TB, ip string) *host {
	tb.Helper()
	ns := netnstest.New(tb)
	return &host{tb: tb, ns: ns, h: netnstest.Handle(tb, ns), ip: ip}
}

func (h *host) config() Config {
	return Config{Name: "tbbond0", NetNS: int(h.ns), Addrs: []netip.Prefix{netip.MustParsePrefix(h.ip + "/24")}}
}

// open opens the host's device; it is closed with the test.
func (h *host) open(c Config) {
	h.tb.Helper()
	h.dev = open2(h.tb, c)
}

// open2 skips where a TAP cannot be had at all.
func open2(tb testing.TB, c Config) *Device {
	tb.Helper()
	d, err := Open(c)
	if errors.Is(err, ErrNoTUN) || errors.Is(err, fs.ErrPermission) && os.Getuid() != 0 {
		tb.Skipf("needs a TUN/TAP driver and access to %s: %v", clonePath, err)
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := d.Close(); err != nil {
			tb.Error(err)
		}
	})
	return d
}

// pair is two hosts whose TAPs are joined.
func pair(tb testing.TB, mtu int) (a, b *host, pa, pb *pipe) {
	tb.Helper()
	a, b = newHost(tb, "10.77.0.1"), newHost(tb, "10.77.0.2")
	ports := [2]*pipe{}
	for _, h := range []*host{a, b} {
		c := h.config()
		c.MTU = mtu
		h.open(c)
	}
	ports[0], ports[1] = newPipes(tb, 1) // closed before the devices
	for i, h := range []*host{a, b} {
		if err := h.dev.Attach(ports[i]); err != nil {
			tb.Fatal(err)
		}
		h.waitOper(netlink.OperUp)
	}
	return a, b, ports[0], ports[1]
}

// link reads the netdev.
func (h *host) link() *netlink.LinkAttrs {
	h.tb.Helper()
	l, err := h.h.LinkByName("tbbond0")
	if err != nil {
		h.tb.Fatal(err)
	}
	return l.Attrs()
}

// addrs are the IPv4 addresses of a netdev of the host.
func (h *host) addrs(name string) []string {
	h.tb.Helper()
	l, err := h.h.LinkByName(name)
	if err != nil {
		h.tb.Fatal(err)
	}
	list, err := h.h.AddrList(l, netlink.FAMILY_V4)
	if err != nil {
		h.tb.Fatal(err)
	}
	var out []string
	for _, a := range list {
		out = append(out, a.IPNet.String())
	}
	return out
}

func (h *host) waitOper(want netlink.LinkOperState) {
	h.tb.Helper()
	wait(h.tb, fmt.Sprintf("operstate %v", want), func() bool { return h.link().OperState == want })
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

// cubic sets the congestion control that users run.
func cubic(_, _ string, c syscall.RawConn) error {
	var err error
	if e := c.Control(func(fd uintptr) {
		err = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, "cubic")
	}); e != nil {
		return e
	}
	return err
}

// noLossProbes switches off TCP's tail loss probe, which repeats the last
// segment whenever its acknowledgement takes two round trips: any pause of a
// busy machine. Loss found by acknowledgements or by the retransmission timer
// still shows.
func (h *host) noLossProbes() {
	netnstest.Do(h.tb, h.ns, func() error {
		return os.WriteFile("/proc/sys/net/ipv4/tcp_early_retrans", []byte("0"), 0)
	})
}

// connect makes a TCP connection from a to b. Both ends are closed with the test.
func connect(tb testing.TB, a, b *host) (from, to *net.TCPConn) {
	tb.Helper()
	var l net.Listener
	netnstest.Do(tb, b.ns, func() (err error) {
		lc := net.ListenConfig{Control: cubic}
		l, err = lc.Listen(context.Background(), "tcp", b.ip+":0")
		return err
	})
	defer l.Close()
	accepted := make(chan net.Conn, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			tb.Error(err)
		}
		accepted <- c
	}()
	netnstest.Do(tb, a.ns, func() error {
		d := net.Dialer{Control: cubic, Timeout: 20 * time.Second}
		c, err := d.Dial("tcp", l.Addr().String())
		if err == nil {
			from = c.(*net.TCPConn)
		}
		return err
	})
	to, _ = (<-accepted).(*net.TCPConn)
	for _, c := range []*net.TCPConn{from, to} {
		tb.Cleanup(func() { c.Close() })
		if err := c.SetDeadline(time.Now().Add(60 * time.Second)); err != nil {
			tb.Fatal(err)
		}
	}
	return from, to
}

// datagramSockets gives a UDP socket of a that is connected to one of b.
func datagramSockets(tb testing.TB, a, b *host) (from net.Conn, to *net.UDPConn) {
	tb.Helper()
	netnstest.Do(tb, b.ns, func() (err error) {
		to, err = net.ListenUDP("udp", &net.UDPAddr{IP: net.ParseIP(b.ip)})
		return err
	})
	tb.Cleanup(func() { to.Close() })
	netnstest.Do(tb, a.ns, func() (err error) {
		from, err = net.Dial("udp", to.LocalAddr().String())
		return err
	})
	tb.Cleanup(func() { from.Close() })
	if err := to.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		tb.Fatal(err)
	}
	return from, to
}

// ping sends one ICMP echo from the host and waits for its answer.
func (h *host) ping(to string) error {
	var c *icmp.PacketConn
	netnstest.Do(h.tb, h.ns, func() (err error) {
		c, err = icmp.ListenPacket("ip4:icmp", h.ip)
		return err
	})
	defer c.Close()
	msg := icmp.Message{Type: ipv4.ICMPTypeEcho, Body: &icmp.Echo{ID: 7, Seq: 1, Data: []byte("tbnet2")}}
	b, err := msg.Marshal(nil)
	if err != nil {
		return err
	}
	if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return err
	}
	if _, err := c.WriteTo(b, &net.IPAddr{IP: net.ParseIP(to)}); err != nil {
		return err
	}
	buf := make([]byte, 1500)
	for {
		n, _, err := c.ReadFrom(buf)
		if err != nil {
			return err
		}
		m, err := icmp.ParseMessage(1, buf[:n])
		if err == nil && m.Type == ipv4.ICMPTypeEchoReply {
			return nil
		}
	}
}
