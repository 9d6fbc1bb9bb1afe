// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serveTCP runs handle for each connection to a loopback address, until the
// test ends.
func serveTCP(t testing.TB, address string, handle func(*net.TCPConn)) string {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	var tasks sync.WaitGroup
	tasks.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			tasks.Go(func() {
				defer c.Close()
				handle(c.(*net.TCPConn))
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		tasks.Wait()
	})
	return l.Addr().String()
}

func echo(c *net.TCPConn) {
	if _, err := io.Copy(c, c); err == nil {
		_ = c.CloseWrite()
	}
}

// serveUDP echoes datagrams.
func serveUDP(t testing.TB) string {
	t.Helper()
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var tasks sync.WaitGroup
	tasks.Go(func() {
		buf := make([]byte, 1<<16)
		for {
			n, from, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = pc.WriteTo(buf[:n], from)
		}
	})
	t.Cleanup(func() {
		pc.Close()
		tasks.Wait()
	})
	return pc.LocalAddr().String()
}

func port(t testing.TB, address string) string {
	t.Helper()
	_, p, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func openForward(t testing.TB, f Forward, o Options) *Forwarder {
	t.Helper()
	w, err := f.Open(Host{}, Host{}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

func openSOCKS(t testing.TB, out Dialer, users map[string]string, o Options) *SOCKS {
	t.Helper()
	p, err := OpenSOCKS("127.0.0.1:0", out, users, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// dial connects over the kernel; what hangs fails the test in time.
func dial(t testing.TB, network, address string) net.Conn {
	t.Helper()
	c, err := net.Dial(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	deadline(t, c)
	return c
}

func deadline(t testing.TB, c net.Conn) {
	t.Helper()
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
}

// ask sends a message and expects it back.
func ask(c net.Conn, message string) error {
	if _, err := io.WriteString(c, message); err != nil {
		return err
	}
	b := make([]byte, len(message))
	if _, err := io.ReadFull(c, b); err != nil {
		return err
	}
	if string(b) != message {
		return errors.New("got " + string(b) + ", want " + message)
	}
	return nil
}

// wait polls until ok, or fails the test after a time far beyond what is due.
func wait(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	timeout := time.After(20 * time.Second)
	for !ok() {
		select {
		case <-tick.C:
		case <-timeout:
			t.Fatalf("not within 20 s: %s", what)
		}
	}
}

func names() Names {
	return StaticNames(map[string]netip.Addr{"Node2": netip.MustParseAddr("127.0.0.1")})
}

// dialFunc is a Dialer.
type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

func (f dialFunc) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return f(ctx, network, address)
}
