// SPDX-License-Identifier: Apache-2.0

// Package bundle tests bundles of rails in memory: peers that restart, rings of
// hosts, rails taken in and out of use under traffic.
package bundle

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/tbnet2/tbnet2/fabric"
	"github.com/tbnet2/tbnet2/lab"
	"github.com/tbnet2/tbnet2/rail/mem"
	"github.com/tbnet2/tbnet2/userstack"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func id(name string) uuid.UUID { return uuid.NewSHA1(uuid.NameSpaceDNS, []byte(name)) }

// host is a fabric with a TCP/IP stack.
type host struct {
	name   string
	fabric *fabric.Fabric
	stack  *userstack.Stack
}

// newHost makes a host 10.9.0.n; close ends it.
func newHost(tb testing.TB, name string, n int) *host {
	tb.Helper()
	f, err := fabric.New(fabric.Config{Host: id(name), HostName: name, Endpoint: 1, Retransmit: true})
	if err != nil {
		tb.Fatal(err)
	}
	address := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 9, 0, byte(n)}), 24)
	s, err := userstack.New(f.Port(), userstack.Config{Host: id(name), Addresses: []netip.Prefix{address}})
	if err != nil {
		tb.Fatal(err)
	}
	h := &host{name, f, s}
	tb.Cleanup(h.close)
	return h
}

func (h *host) close() { _, _ = h.stack.Close(), h.fabric.Close() }

// open gives the host the rails of a lab's.
func (h *host) open(tb testing.TB, n *lab.Node) {
	tb.Helper()
	devs, err := n.OpenRailsFor(1)
	if err != nil {
		tb.Fatal(err)
	}
	for _, d := range devs {
		if err := h.fabric.AddRail(d, fabric.RailOptions{}); err != nil {
			tb.Fatal(err)
		}
	}
}

// wire joins two hosts by a rail of a name.
func wire(tb testing.TB, a, b *host, name string, seed uint64) *mem.Link {
	tb.Helper()
	l, err := mem.New(mem.Config{Name: name, MTU: 9000, Seed: seed, Group: seed})
	if err == nil {
		err = a.fabric.AddRail(l.A(), fabric.RailOptions{Name: name})
	}
	if err == nil {
		err = b.fabric.AddRail(l.B(), fabric.RailOptions{Name: name})
	}
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

// up counts the rails to all peers that are up.
func (h *host) up() (n int) {
	for _, p := range h.fabric.Status().Peers {
		for _, r := range p.Rails {
			if r.State == "up" {
				n++
			}
		}
	}
	return n
}

// sent gives the bytes that a rail has carried.
func (h *host) sent(rail string) (n uint64) {
	for _, p := range h.fabric.Status().Peers {
		for _, r := range p.Rails {
			if r.Name == rail {
				n += r.TxBytes
			}
		}
	}
	return n
}

// wait waits for a condition.
func wait(tb testing.TB, what string, within time.Duration, f func() bool) {
	tb.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(within)
	for !f() {
		select {
		case <-tick.C:
		case <-deadline:
			tb.Fatalf("%s: not within %v", what, within)
		}
	}
}

// echo listens on a host and sends back what comes.
func echo(tb testing.TB, h *host) {
	tb.Helper()
	l, err := h.stack.Listen("tcp", ":7")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(c, c)
				_ = c.Close()
			}()
		}
	}()
}

// talk sends bytes to host 10.9.0.n and expects them back.
func talk(from *host, n int) error {
	c, err := from.stack.Dial("tcp", fmt.Sprintf("10.9.0.%d:7", n))
	if err != nil {
		return err
	}
	defer c.Close()
	return say(c, 1<<16)
}

// say sends n bytes on an echoed connection and compares what comes back.
func say(c net.Conn, n int) error {
	sent, got := make([]byte, n), make([]byte, n)
	for i := range sent {
		sent[i] = byte(i * 7)
	}
	errs := make(chan error, 1)
	go func() {
		_, err := c.Write(sent)
		errs <- err
	}()
	if _, err := io.ReadFull(c, got); err != nil {
		return err
	}
	if err := <-errs; err != nil {
		return err
	}
	if string(sent) != string(got) {
		return fmt.Errorf("%d bytes came back otherwise than they went", n)
	}
	return nil
}
