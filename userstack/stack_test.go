// SPDX-License-Identifier: Apache-2.0

package userstack_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"
	"golang.org/x/net/nettest"

	"github.com/tbnet2/tbnet2/fabric"
	"github.com/tbnet2/tbnet2/rail/mem"
	"github.com/tbnet2/tbnet2/rail/model"
	"github.com/tbnet2/tbnet2/userstack"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func hostID(name string) uuid.UUID { return uuid.NewSHA1(uuid.NameSpaceDNS, []byte(name)) }

// host is a stack on a fabric.
type host struct {
	*userstack.Stack
	fabric *fabric.Fabric
}

func newHost(tb testing.TB, name, address string, change func(*userstack.Config)) *host {
	tb.Helper()
	f, err := fabric.New(fabric.Config{Host: hostID(name), HostName: name, Endpoint: 1, Retransmit: true})
	if err != nil {
		tb.Fatal(err)
	}
	cfg := userstack.Config{Host: hostID(name), Addresses: []netip.Prefix{netip.MustParsePrefix(address)}}
	if change != nil {
		change(&cfg)
	}
	s, err := userstack.New(f.Port(), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = s.Close()
		_ = f.Close()
	})
	return &host{s, f}
}

// pair gives two hosts, 10.0.0.1 and 10.0.0.2, joined by rails.
func pair(tb testing.TB, rails, mtu int, p model.Params, change func(*userstack.Config)) (a, b *host, links []*mem.Link) {
	tb.Helper()
	a, b = newHost(tb, "a", "10.0.0.1/24", change), newHost(tb, "b", "10.0.0.2/24", change)
	for i := range rails {
		name := fmt.Sprintf("rail%d", i)
		l, err := mem.New(mem.Config{Name: name, MTU: mtu, Seed: uint64(i) + 1, Params: p})
		if err == nil {
			err = a.fabric.AddRail(l.A(), fabric.RailOptions{Name: name})
		}
		if err == nil {
			err = b.fabric.AddRail(l.B(), fabric.RailOptions{Name: name})
		}
		if err != nil {
			tb.Fatal(err)
		}
		links = append(links, l)
	}
	waitUp(tb, a, rails)
	waitUp(tb, b, rails)
	return a, b, links
}

func waitUp(tb testing.TB, h *host, rails int) {
	tb.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(5 * time.Second)
	for {
		up := 0
		for _, p := range h.fabric.Status().Peers {
			for _, r := range p.Rails {
				if r.State == "up" && r.MTU == r.LocalMTU {
					up++
				}
			}
		}
		if up == rails {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			tb.Fatalf("%d of %d rails up", up, rails)
		}
	}
}

// connect gives both ends of a TCP connection.
func connect(tb testing.TB, a, b *host, network, address string) (x, y net.Conn) {
	tb.Helper()
	l, err := b.Listen(network, address)
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
	if x, err = a.Dial(network, l.Addr().String()); err != nil {
		tb.Fatal(err)
	}
	return x, <-accepted
}

func TestConn(t *testing.T) {
	for _, address := range []string{"10.0.0.2:0", "[" + userstack.LinkLocal6(hostID("b")).String() + "]:0"} {
		t.Run(address, func(t *testing.T) {
			nettest.TestConn(t, func() (x, y net.Conn, stop func(), err error) {
				a, b, _ := pair(t, 2, 9000, model.Params{}, nil)
				x, y = connect(t, a, b, "tcp", address)
				return x, y, func() { _, _ = x.Close(), y.Close() }, nil
			})
		})
	}
}

// transfer sends n random bytes from x to y and compares their hashes.
func transfer(tb testing.TB, x, y net.Conn, n int64) {
	tb.Helper()
	sent, got := sha256.New(), sha256.New()
	errs := make(chan error, 1)
	go func() {
		src := rand.NewChaCha8([32]byte{1})
		_, err := io.CopyN(io.MultiWriter(x, sent), src, n)
		errs <- err
	}()
	if _, err := io.CopyN(got, y, n); err != nil {
		tb.Fatal(err)
	}
	if err := <-errs; err != nil {
		tb.Fatal(err)
	}
	if string(sent.Sum(nil)) != string(got.Sum(nil)) {
		tb.Fatal("what came is not what was sent")
	}
}

func TestU46_SuperpacketsBothWaysWithoutRetransmits(t *testing.T) {
	a, b, _ := pair(t, 2, 65535, model.Params{}, nil)
	x, y := connect(t, a, b, "tcp", "10.0.0.2:0")
	defer x.Close()
	defer y.Close()
	back := make(chan struct{})
	go func() {
		defer close(back)
		transfer(t, y, x, 32<<20)
	}()
	transfer(t, x, y, 32<<20)
	<-back
	for name, h := range map[string]*host{"a": a, "b": b} {
		st := h.Stats()
		if st.TCPRetransmits != 0 {
			t.Errorf("host %s: %d retransmits", name, st.TCPRetransmits)
		}
		if st.TCPSegments > 10000 {
			t.Errorf("host %s: %d segments for 32 MiB each way: no superpackets", name, st.TCPSegments)
		}
	}
}

func TestStreamSurvivesLossOfARail(t *testing.T) {
	a, b, links := pair(t, 2, 9000, model.Params{Rate: 1e9, Delay: 50 * time.Microsecond}, nil)
	x, y := connect(t, a, b, "tcp", "10.0.0.2:0")
	defer x.Close()
	defer y.Close()
	timer := time.AfterFunc(100*time.Millisecond, func() { links[0].Plug(false) })
	defer timer.Stop()
	transfer(t, x, y, 64<<20)
}

func BenchmarkOneFlow(b *testing.B) {
	for _, mtu := range []int{4096, 65535} {
		b.Run(fmt.Sprint(mtu), func(b *testing.B) {
			x, y, _ := pair(b, 2, mtu, model.Params{}, nil)
			c, d := connect(b, x, y, "tcp", "10.0.0.2:0")
			defer c.Close()
			defer d.Close()
			const chunk = 1 << 20
			b.SetBytes(chunk)
			b.ResetTimer()
			go func() {
				buf := make([]byte, chunk)
				for range b.N {
					if _, err := c.Write(buf); err != nil {
						return
					}
				}
			}()
			if _, err := io.CopyN(io.Discard, d, int64(b.N)*chunk); err != nil {
				b.Fatal(err)
			}
		})
	}
}
