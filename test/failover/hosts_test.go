// SPDX-License-Identifier: Apache-2.0

// Package failover pulls and silences cables of the lab under one TCP flow and
// measures what the flow feels.
package failover

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tbnet2/tbnet2/fabric"
	"github.com/tbnet2/tbnet2/lab"
	"github.com/tbnet2/tbnet2/userstack"
)

// TestMain enters a user namespace where this process may not make network
// namespaces itself.
func TestMain(m *testing.M) {
	if err := lab.Main(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	d := lab.Detect()
	if d.Get(lab.ModeUserNamespace).Enter && !d.Get(lab.ModeNamespaces).OK {
		code, err := lab.Enter(context.Background(), lab.EnterOptions{Args: os.Args[1:], Stdout: os.Stdout, Stderr: os.Stderr})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(code)
	}
	goleak.VerifyTestMain(m)
}

// endpoint is the speaker that each host has.
const endpoint = 1

// host is one end: a fabric over the node's rails and a TCP on top.
type host struct {
	node   *lab.Node
	fabric *fabric.Fabric
	stack  *userstack.Stack
}

// netMode is the mode with namespaces that this process has.
func netMode(t *testing.T) lab.Mode {
	t.Helper()
	d := lab.Detect()
	for _, m := range []lab.Mode{lab.ModeNamespaces, lab.ModeUserNamespace} {
		if s := d.Get(m); s.OK && !s.Enter {
			return m
		}
	}
	t.Skipf("needs network namespaces: %s", d.Get(lab.ModeUserNamespace).Why)
	return ""
}

// pair builds two hosts on two cables of 200 Mb/s with one rail each.
func pair(t *testing.T) (l *lab.Lab, a, b *host) {
	t.Helper()
	topo := lab.Pair(2, 1)
	for i := range topo.Cables {
		topo.Cables[i].MTU = 9000
		topo.Cables[i].Rate = 200e6
		topo.Cables[i].Delay = lab.Time(100 * time.Microsecond)
	}
	l, err := lab.New(t.Context(), topo, netMode(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	a, b = newHost(t, l.Host("a")), newHost(t, l.Host("b"))
	for _, h := range []*host{a, b} {
		eventually(t, h.node.Name()+": both rails up", 5*time.Second, func() bool { return h.up() == 2 })
	}
	return l, a, b
}

func newHost(t *testing.T, n *lab.Node) *host {
	t.Helper()
	h := &host{node: n}
	f, err := fabric.New(fabric.Config{Host: n.UUID(), HostName: n.Name(), Endpoint: endpoint, Retransmit: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	h.fabric = f
	devs, err := n.OpenRailsFor(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range devs {
		if err := f.AddRail(d, fabric.RailOptions{}); err != nil {
			t.Fatal(errors.Join(err, d.Close()))
		}
	}
	if h.stack, err = userstack.New(f.Port(), userstack.Config{Host: n.UUID()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.stack.Close() })
	return h
}

// up counts the rails that carry data.
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

// sent gives the bytes that a rail has carried away from the host.
func (h *host) sent(rail string) uint64 {
	for _, p := range h.fabric.Status().Peers {
		for _, r := range p.Rails {
			if r.Name == rail {
				return r.TxBytes
			}
		}
	}
	return 0
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, within time.Duration, f func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(within)
	for !f() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s: not within %v", what, within)
		}
	}
}

// stream is a TCP flow without end whose every byte is checked.
type stream struct {
	t    *testing.T
	conn [2]net.Conn
	done sync.WaitGroup

	mu      sync.Mutex // guards what follows
	last    time.Time  // a byte came
	longest time.Duration
	bytes   uint64
	wrong   bool
}

// start opens a flow from a to b and lets it run until stop.
func start(t *testing.T, a, b *host) *stream {
	t.Helper()
	s := &stream{t: t}
	at := netip.AddrPortFrom(userstack.LinkLocal4(b.node.UUID()), 7).String()
	l, err := b.stack.Listen("tcp4", at)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if s.conn[0], err = a.stack.DialContext(t.Context(), "tcp4", at); err != nil {
		t.Fatal(err)
	}
	if s.conn[1], err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	s.last = time.Now()
	s.done.Add(2)
	go s.send()
	go s.receive()
	eventually(t, "the first megabyte", 5*time.Second, func() bool { return s.received() > 1<<20 })
	return s
}

const block = 64 << 10

func (s *stream) send() {
	defer s.done.Done()
	random, buf := rand.NewChaCha8([32]byte{7}), make([]byte, block)
	for {
		_, _ = random.Read(buf) // never fails
		if _, err := s.conn[0].Write(buf); err != nil {
			return // stop has closed it; receive knows whether that was right
		}
	}
}

func (s *stream) receive() {
	defer s.done.Done()
	random, buf, want := rand.NewChaCha8([32]byte{7}), make([]byte, block), make([]byte, block)
	for {
		n, err := s.conn[1].Read(buf)
		_, _ = random.Read(want[:n])
		s.note(n, bytes.Equal(buf[:n], want[:n]))
		if err != nil {
			return
		}
	}
}

func (s *stream) note(n int, equal bool) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.longest = max(s.longest, now.Sub(s.last))
	s.last = now
	s.bytes += uint64(n)
	s.wrong = s.wrong || !equal
}

func (s *stream) received() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes
}

// stall gives the longest time without a byte since the last call.
func (s *stream) stall() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	longest := max(s.longest, time.Since(s.last))
	s.longest, s.last = 0, time.Now()
	return longest
}

// more waits for n more bytes: the flow lives.
func (s *stream) more(n uint64) {
	s.t.Helper()
	goal := s.received() + n
	eventually(s.t, fmt.Sprintf("%d more bytes", n), 10*time.Second, func() bool { return s.received() >= goal })
}

// stop ends the flow and reports whether any byte was wrong.
func (s *stream) stop() {
	s.t.Helper()
	for _, c := range s.conn {
		_ = c.Close()
	}
	s.done.Wait()
	if s.wrong {
		s.t.Error("what arrived is not what was sent")
	}
}
