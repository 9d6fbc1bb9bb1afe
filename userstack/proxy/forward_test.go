// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestForwardBothWays(t *testing.T) {
	target := serveTCP(t, "127.0.0.1:0", echo)
	for name, f := range map[string]Forward{
		"to the fabric":   {Network: "tcp", Listen: ":0", Target: "node2:" + port(t, target)},
		"from the fabric": {Network: "tcp", Reverse: true, Listen: "127.0.0.1:0", Target: "localhost:" + port(t, target)},
	} {
		t.Run(name, func(t *testing.T) {
			w := openForward(t, f, Options{Names: names()})
			if err := ask(dial(t, "tcp", w.Addr().String()), "there and back"); err != nil {
				t.Error(err)
			}
			wait(t, "14 bytes counted each way", func() bool { s := w.Stats(); return s.BytesOut == 14 && s.BytesIn == 14 })
			if s := w.Stats(); s.Accepted != 1 || s.Active != 1 {
				t.Errorf("got %+v, want one connection", s)
			}
		})
	}
}

func TestForwardLocalListensOnLoopback(t *testing.T) {
	w := openForward(t, Forward{Network: "tcp", Listen: ":0", Target: "node2:1"}, Options{})
	if ip := w.Addr().(*net.TCPAddr).IP; !ip.IsLoopback() {
		t.Errorf("got %s, want loopback", ip)
	}
	all := openForward(t, Forward{Network: "tcp", Listen: "*:0", Target: "node2:1"}, Options{})
	if ip := all.Addr().(*net.TCPAddr).IP; !ip.IsUnspecified() {
		t.Errorf("*: got %s, want all addresses", ip)
	}
}

func TestForwardOpenErrors(t *testing.T) {
	busy := serveTCP(t, "127.0.0.1:0", echo)
	for _, tc := range []struct {
		f   Forward
		err string
	}{
		{Forward{Network: "tcp", Listen: busy, Target: "a:1"}, "address already in use"},
		{Forward{Network: "sctp", Listen: ":0", Target: "a:1"}, "neither tcp nor udp"},
		{Forward{Network: "udp", Listen: "80", Target: "a:1"}, "no ADDRESS:PORT"},
	} {
		w, err := tc.f.Open(Host{}, Host{}, Options{})
		if err == nil {
			w.Close()
		}
		if err == nil || !strings.Contains(err.Error(), tc.err) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want one line with %q", tc.f, err, tc.err)
		}
	}
}

// wantReset expects that a new connection is reset, during or after connect.
func wantReset(t *testing.T, w *Forwarder) {
	t.Helper()
	c, err := net.Dial("tcp", w.Addr().String())
	if err == nil {
		defer c.Close()
		deadline(t, c)
		_, err = c.Read(make([]byte, 1))
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("got %v, want %v", err, syscall.ECONNRESET)
	}
}

// Whatever breaks off is broken off, so that nobody takes a part for the whole.
func TestBreakIsNotAnEnd(t *testing.T) {
	reset := serveTCP(t, "127.0.0.1:0", func(c *net.TCPConn) {
		_, _ = io.WriteString(c, "part")
		_, _ = c.Read(make([]byte, 1)) // until the client has it
		_ = c.SetLinger(0)
	})
	t.Run("target resets", func(t *testing.T) {
		w := openForward(t, Forward{Network: "tcp", Listen: ":0", Target: reset}, Options{})
		c := dial(t, "tcp", w.Addr().String())
		if _, err := io.ReadFull(c, make([]byte, 4)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte{1}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("got %v, want %v", err, syscall.ECONNRESET)
		}
		wait(t, "counted once", func() bool { return w.Stats().Broken == 1 })
	})
	t.Run("target refuses", func(t *testing.T) {
		w := openForward(t, Forward{Network: "tcp", Listen: ":0", Target: "node9:80"}, Options{Names: names()})
		wantReset(t, w)
		wait(t, "one dial error", func() bool { return w.Stats().DialErrors == 1 })
	})
	t.Run("Close", func(t *testing.T) {
		w := openForward(t, Forward{Network: "tcp", Listen: ":0", Target: reset}, Options{})
		c := dial(t, "tcp", w.Addr().String())
		if _, err := io.ReadFull(c, make([]byte, 4)); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.Close(), w.Close()); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("got %v, want %v", err, syscall.ECONNRESET)
		}
	})
}

// Close ends transfers in both directions that nobody reads, and dials that hang.
func TestCloseInTransfer(t *testing.T) {
	target := serveTCP(t, "127.0.0.1:0", func(c *net.TCPConn) {
		_, _ = io.Copy(c, endless{})
	})
	var hanging atomic.Int32
	out := dialFunc(func(ctx context.Context, network, address string) (net.Conn, error) {
		if address == "192.0.2.1:1" {
			hanging.Add(1)
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return Host{}.DialContext(ctx, network, address)
	})
	p := openSOCKS(t, out, nil, Options{})
	c, err := through(t, p, nil).Dial("tcp", target)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	slow := make(chan error, 1)
	go func() {
		_, err := through(t, p, nil).Dial("tcp", "192.0.2.1:1")
		slow <- err
	}()
	wait(t, "bytes on their way and a hanging dial", func() bool { return p.Stats().BytesIn > 1<<16 && hanging.Load() == 1 })
	begun := time.Now()
	p.Close()
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("Close took %v", took)
	}
	if err := <-slow; err == nil {
		t.Error("the hanging dial succeeded")
	}
	if got := p.Stats().Active; got != 0 {
		t.Errorf("active after Close: got %d, want 0", got)
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }

func TestConnectionLimit(t *testing.T) {
	target := serveTCP(t, "127.0.0.1:0", echo)
	w := openForward(t, Forward{Network: "tcp", Listen: ":0", Target: target}, Options{MaxConns: 2})
	first := dial(t, "tcp", w.Addr().String())
	for _, c := range []net.Conn{first, dial(t, "tcp", w.Addr().String())} {
		if err := ask(c, "within the limit"); err != nil {
			t.Fatal(err)
		}
	}
	wantReset(t, w)
	if s := w.Stats(); s.Limited != 1 || s.Accepted != 2 || s.Active != 2 {
		t.Errorf("got %+v, want 2 accepted and active, 1 limited", s)
	}
	first.Close()
	wait(t, "room again", func() bool { return w.Stats().Active == 1 })
	if err := ask(dial(t, "tcp", w.Addr().String()), "again"); err != nil {
		t.Error(err)
	}
}

// In virtual time: a connection that moves is kept, one that rests is ended.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(Options{Idle: time.Minute})
		client, a := net.Pipe()
		b, target := net.Pipe()
		over := make(chan struct{})
		go func() {
			s.relay(a, b, a)
			close(over)
		}()
		buf := make([]byte, 1)
		for range 10 {
			time.Sleep(50 * time.Second)
			if _, err := client.Write([]byte{7}); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(target, buf); err != nil {
				t.Fatal(err)
			}
		}
		begun := time.Now()
		<-over
		if rest := time.Since(begun); rest < time.Minute || rest > 2*time.Minute {
			t.Errorf("ended after %v of rest, want 1 to 2 minutes", rest)
		}
		if got := s.count.idle.Load(); got != 1 {
			t.Errorf("counted: got %d, want 1", got)
		}
		client.Close()
		target.Close()
	})
}

// A listener that fails for a while is tried again, at a bounded rate.
func TestAcceptErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(Options{})
		l := failing{}
		s.track(l)
		s.start(func() { s.accept(l, func(net.Conn) {}) })
		time.Sleep(time.Minute)
		got := s.count.acceptErrors.Load()
		if got < 60 || got > 80 {
			t.Errorf("tries in a minute: got %d, want about one a second", got)
		}
		s.close()
	})
}

type failing struct{}

func (failing) Accept() (net.Conn, error) { return nil, syscall.EMFILE }
func (failing) Addr() net.Addr            { return &net.TCPAddr{} }
func (failing) Close() error              { return nil }

func TestForwardDatagrams(t *testing.T) {
	target := serveUDP(t)
	w := openForward(t, Forward{Network: "udp", Listen: ":0", Target: target}, Options{MaxConns: 2})
	one, two := dial(t, "udp", w.Addr().String()), dial(t, "udp", w.Addr().String())
	for range 3 {
		if err := errors.Join(ask(one, "first client"), ask(two, "second")); err != nil {
			t.Fatal(err)
		}
	}
	if err := ask(one, strings.Repeat("x", 65507)); err != nil {
		t.Error("largest datagram:", err)
	}
	if _, err := io.WriteString(dial(t, "udp", w.Addr().String()), "third"); err != nil {
		t.Fatal(err)
	}
	wait(t, "a third client is refused", func() bool { return w.Stats().Limited == 1 })
	wait(t, "7 counted each way", func() bool { s := w.Stats(); return s.DatagramsOut == 7 && s.DatagramsIn == 7 })
	if s := w.Stats(); s.Active != 2 || s.DatagramsDropped != 0 {
		t.Errorf("got %+v, want 2 active, none dropped", s)
	}
}

func TestDatagramSessionEndsIdle(t *testing.T) {
	target := serveUDP(t)
	w := openForward(t, Forward{Network: "udp", Listen: ":0", Target: target}, Options{UDPIdle: 30 * time.Millisecond})
	c := dial(t, "udp", w.Addr().String())
	for range 2 {
		if err := ask(c, "hello"); err != nil {
			t.Fatal(err)
		}
		wait(t, "idle session ended", func() bool { return w.Stats().Active == 0 })
	}
	wait(t, "2 ended idle", func() bool { return w.Stats().IdleClosed == 2 })
}

// Carrying bytes needs no memory beyond the pool's.
func TestCopyAllocatesNothing(t *testing.T) {
	s := newService(Options{})
	r := &relay{s: s}
	src := &blocks{}
	allocs := testing.AllocsPerRun(100, func() {
		src.left = 20
		if err := r.copy(io.Discard, src, &s.count.bytesOut); err != nil {
			t.Fatal(err)
		}
	})
	if allocs != 0 {
		t.Errorf("got %v allocations for 20 reads, want 0", allocs)
	}
	if got := s.count.bytesOut.Load(); got != 101*20*bufferLen {
		t.Errorf("bytes: got %d, want %d", got, 101*20*bufferLen)
	}
}

// blocks gives left full reads.
type blocks struct{ left int }

func (b *blocks) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	b.left--
	return len(p), nil
}
