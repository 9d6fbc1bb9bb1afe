// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"encoding/binary"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/tbnet2/tbnet2/rail/mem"
	"github.com/tbnet2/tbnet2/rail/model"
	"github.com/tbnet2/tbnet2/transport"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testHost gives a host's UUID by its name.
func testHost(name string) uuid.UUID { return uuid.NewSHA1(uuid.NameSpaceDNS, []byte(name)) }

func newFabric(tb testing.TB, name string, change func(*Config)) *Fabric {
	tb.Helper()
	cfg := Config{Host: testHost(name), HostName: name, Endpoint: 1, Retransmit: true}
	if os.Getenv("FABRIC_LOG") != "" {
		cfg.Log = slog.New(slog.NewTextHandler(os.Stderr, nil)).With("host", name)
	}
	if change != nil {
		change(&cfg)
	}
	f, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = f.Close() })
	return f
}

// wireUp joins two fabrics by n links in memory.
func wireUp(tb testing.TB, a, b *Fabric, n, mtu int, p model.Params) []*mem.Link {
	tb.Helper()
	var links []*mem.Link
	for i := range n {
		l, err := mem.New(mem.Config{Name: fmt.Sprintf("rail%d", i), MTU: mtu, Seed: uint64(i + 1), Params: p, Group: uint64(i)})
		if err != nil {
			tb.Fatal(err)
		}
		links = append(links, l)
		if err := a.AddRail(l.A(), RailOptions{Name: fmt.Sprintf("rail%d", i)}); err != nil {
			tb.Fatal(err)
		}
		if err := b.AddRail(l.B(), RailOptions{Name: fmt.Sprintf("rail%d", i)}); err != nil {
			tb.Fatal(err)
		}
	}
	return links
}

// eventually waits for a condition.
func eventually(tb testing.TB, what string, within time.Duration, f func() bool) {
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

// railsUp waits until every one of n rails to every peer is up.
func railsUp(tb testing.TB, f *Fabric, n int) {
	tb.Helper()
	eventually(tb, fmt.Sprintf("%d rails up", n), 5*time.Second, func() bool {
		up := 0
		for _, p := range f.Status().Peers {
			for _, r := range p.Rails {
				if r.State == "up" && r.MTU == min(r.LocalMTU, r.PeerMTU) {
					up++
				}
			}
		}
		return up == n
	})
}

// counter checks that numbered packets of one flow come in order.
type counter struct {
	mu     sync.Mutex
	next   uint64
	missed uint64 // that did not come
	bad    string
	slow   time.Duration // what each batch takes
}

func (c *counter) handle(f *Fabric) func([]transport.Delivery) { return c.handleOf(f.Port()) }

func (c *counter) handleOf(p Port) func([]transport.Delivery) {
	return func(batch []transport.Delivery) {
		if c.slow > 0 {
			<-time.After(c.slow)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, d := range batch {
			c.take(binary.BigEndian.Uint64(d.Data[14:]), d.Data)
			if d.Buf != nil {
				p.Release(d.Buf)
			}
		}
	}
}

func (c *counter) take(got uint64, data []byte) {
	if got < c.next && c.bad == "" {
		c.bad = fmt.Sprintf("packet %d after %d", got, c.next-1)
	}
	for i := 22; i < len(data) && c.bad == ""; i += 97 {
		if data[i] != byte(got)+byte(i) {
			c.bad = fmt.Sprintf("packet %d is not what was sent", got)
		}
	}
	c.missed += got - c.next
	c.next = got + 1
}

func (c *counter) seen() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.next
}

// complete checks that all came, in order and intact.
func (c *counter) complete(tb testing.TB, fs ...*Fabric) {
	tb.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bad != "" || c.missed != 0 {
		tb.Errorf("%d packets missed; %s", c.missed, c.bad)
		explain(tb, fs...)
	}
}

// numbered makes the n-th packet of a flow.
func numbered(n uint64, size int) *transport.Packet {
	b := make([]byte, size)
	copy(b, []byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x90, 0})
	binary.BigEndian.PutUint64(b[14:], n)
	for i := 22; i < size; i += 97 {
		b[i] = byte(n) + byte(i)
	}
	return &transport.Packet{Parts: [][]byte{b}}
}

// stream sends n packets and waits for room as an outlet would.
func stream(tb testing.TB, f *Fabric, from, n uint64, size int) {
	tb.Helper()
	for i := from; i < from+n; i++ {
		p := numbered(i, size)
		for {
			err := f.Port().Send(p)
			if err == nil {
				break
			}
			f.Port().Flush()
			if err != ErrFull {
				tb.Fatal(err)
			}
			if err := f.Port().WaitSend(); err != nil {
				tb.Fatal(err)
			}
		}
		if i%16 == 15 {
			f.Port().Flush()
		}
	}
	f.Port().Flush()
}

// TestOneFlowOverFourRailsInOrder: what one flow sends arrives whole and in
// order, over all rails.
func TestOneFlowOverFourRailsInOrder(t *testing.T) {
	for _, retransmit := range []bool{true, false} {
		t.Run(fmt.Sprint("retransmit ", retransmit), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				set := func(c *Config) { c.Retransmit = retransmit }
				a, b := newFabric(t, "a", set), newFabric(t, "b", set)
				wireUp(t, a, b, 4, 9000, model.Params{Rate: 1e9, Delay: 50 * time.Microsecond, Jitter: 100 * time.Microsecond})
				railsUp(t, a, 4)
				railsUp(t, b, 4)
				var c counter
				b.Port().Handle(c.handle(b))
				const packets = 1000
				stream(t, a, 0, packets, 60000)
				eventually(t, "all packets", 10*time.Second, func() bool { return c.seen() == packets })
				c.complete(t, a, b)
				for _, r := range a.Status().Peers[0].Rails {
					if r.TxFrames < 500 {
						t.Errorf("rail %s carried %d frames", r.Name, r.TxFrames)
					}
				}
			})
		})
	}
}

// BenchmarkFabric sends packets of 60000 bytes through two fabrics that links
// in memory join: simulated.
func BenchmarkFabric(b *testing.B) {
	for _, mtu := range []int{4096, 65535} {
		b.Run(fmt.Sprint(mtu), func(b *testing.B) {
			x, y := newFabric(b, "a", nil), newFabric(b, "b", nil)
			wireUp(b, x, y, 2, mtu, model.Params{})
			railsUp(b, x, 2)
			var c counter
			y.Port().Handle(c.handle(y))
			b.SetBytes(60000)
			b.ReportAllocs()
			b.ResetTimer()
			stream(b, x, 0, uint64(b.N), 60000)
			eventually(b, "all packets", 60*time.Second, func() bool { return c.seen() == uint64(b.N) })
			if c.bad != "" {
				b.Error(c.bad)
			}
			frames := x.Status().Peers[0].Send.Frames
			b.ReportMetric(float64(frames)/b.Elapsed().Seconds(), "frames/s")
			b.ReportMetric(float64(c.missed), "missed") // given up on a machine that stops us for 50 ms
		})
	}
}

// explain logs what a failed test would want to know.
func explain(tb testing.TB, fs ...*Fabric) {
	tb.Helper()
	for _, f := range fs {
		s := f.Status()
		tb.Logf("%s drops %v", s.HostName, s.Drops)
		for _, p := range s.Peers {
			tb.Logf("  send %+v", p.Send)
			tb.Logf("  receive %+v", p.Receive)
			for _, r := range p.Rails {
				tb.Logf("  %s %s mtu %d rate %d rtt %v least %v window %d: %+v", r.Name, r.State, r.MTU, r.RateBits, r.RTT, r.LeastRTT, r.Window, r.RailStats)
			}
		}
	}
}
