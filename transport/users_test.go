// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"fmt"
	"slices"
	"testing"
)

// The cases of users, in the virtual time of a simulated world: all figures
// here are simulated.

// gigabit is 1 Gb/s in bytes per millisecond.
const gigabit = 125000

// path describes both directions of a rail.
type path struct {
	bytesPerMs int
	delay      Time
	jitter     Time
	loss       int // per 10 000
	mtu        int // 0: 1500
}

// newPaths gives a world of two hosts whose devices never refuse.
func newPaths(t testing.TB, seed uint64, cfg Config, paths ...path) *world {
	var lines [2][]*line
	var mtus []int
	for _, p := range paths {
		for i := range lines {
			lines[i] = append(lines[i], &line{bytesPerMs: p.bytesPerMs, delay: p.delay, jitter: p.jitter, loss: p.loss})
		}
		mtus = append(mtus, orDefault(p.mtu, 1500))
	}
	w := newWorld(t, seed, cfg, lines, mtus)
	w.steady = true
	return w
}

// saturate keeps a node's queue full with packets of one channel.
func (w *world) saturate(n *node, ch uint8, size int) {
	var step func()
	step = func() {
		for n.submit(ch, size, false) {
		}
		n.flush()
		n.arm()
		w.at(w.now+200*Microsecond, step)
	}
	w.at(w.now, step)
}

// capacity is what all rails carry from node 0 in a time, in bytes.
func (w *world) capacity(span Time) int64 {
	sum := int64(0)
	for _, l := range w.lines[0] {
		sum += int64(l.bytesPerMs) * int64(span) / int64(Millisecond)
	}
	return sum
}

// perMille runs a world that is saturated and gives the payload that node 1
// gets against what the rails carry, headers not subtracted.
func (w *world) perMille(warm, span Time) int {
	w.run(w.now + warm)
	before := w.nodes[1].received
	w.run(w.now + span)
	return int(int64(w.nodes[1].received-before) * 1000 / w.capacity(span))
}

// TestU14_EqualRailsOneFlow: one flow over equal rails gets their sum.
func TestU14_EqualRailsOneFlow(t *testing.T) {
	ms := Millisecond
	for _, tt := range []struct {
		name  string
		size  int
		want  int // per mille
		paths []path
	}{
		{"two rails", 65536, 950, []path{{gigabit, ms / 10, 0, 0, 1500}, {gigabit, ms / 10, 0, 0, 1500}}},
		{"two rails, small packets", 1400, 950, []path{{gigabit, ms / 10, 0, 0, 1500}, {gigabit, ms / 10, 0, 0, 1500}}},
		{"two rails, 9000", 65536, 970, []path{{gigabit, ms / 10, 0, 0, 9000}, {gigabit, ms / 10, 0, 0, 9000}}},
		{"unequal rates", 65536, 970, []path{{700 * gigabit / 1000, ms / 10, 0, 0, 9000}, {1400 * gigabit / 1000, ms / 10, 0, 0, 9000}}},
		{"four delays", 65536, 970, []path{{gigabit / 2, ms / 20, 0, 0, 9000}, {gigabit / 2, ms / 5, 0, 0, 9000},
			{gigabit / 2, 35 * ms / 100, 0, 0, 9000}, {gigabit / 2, ms / 2, 0, 0, 9000}}},
		{"lossy", 65536, 930, []path{{gigabit, ms / 10, 0, 2, 9000}, {gigabit, ms / 10, 0, 2, 9000}}},
		{"four at 10 Gb/s", 65536, 950, []path{{10 * gigabit, ms / 50, 0, 0, 4096}, {10 * gigabit, ms / 50, 0, 0, 4096},
			{10 * gigabit, ms / 50, 0, 0, 4096}, {10 * gigabit, ms / 50, 0, 0, 4096}}},
	} {
		for _, retransmit := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, retransmit %v", tt.name, retransmit), func(t *testing.T) {
				w := newPaths(t, 14, Config{Retransmit: retransmit}, tt.paths...)
				w.saturate(w.nodes[0], 0, tt.size)
				span := 80 * ms
				if w.capacity(ms) > 4*gigabit {
					span = 15 * ms
				}
				if got := w.perMille(span, span); got < tt.want {
					t.Errorf("%d/1000 of the sum (simulated), want %d", got, tt.want)
				} else {
					t.Logf("%d/1000 of the sum (simulated)", got)
				}
			})
		}
	}
}

// quantile gives the q-th thousandth of times.
func quantile(times []Time, q int) Time {
	slices.Sort(times)
	return times[len(times)*q/1000]
}

// offer sends packets of one channel at a load of so many thousandths of the
// sum, with random spaces between them, until a time. It gives a place where
// the time that each took is collected.
func (w *world) offer(size, perMille int, until Time) *[]Time {
	took := new([]Time)
	n := w.nodes[0]
	began := map[uint64]Time{}
	mean := int64(size) * int64(Second) * 1000 / (w.capacity(Second) * int64(perMille))
	var step func()
	step = func() {
		began[n.next[0]] = w.now
		if !n.submit(0, size, false) {
			w.t.Fatalf("the queue is full at %d/1000 of the sum", perMille)
		}
		n.flush()
		n.arm()
		if w.now < until {
			w.at(w.now+Time(mean/2+w.rng.Int64N(mean)), step)
		}
	}
	w.nodes[1].delivered = func(d *Delivery) {
		*took = append(*took, w.now-began[uint64(d.Packet)])
	}
	w.at(w.now, step)
	return took
}

// TestU15_SkewAddsNoLoss: rails of unequal delay lose nothing, and what the
// slower one adds is its own delay. Users mean a bond under load, not one
// that is overrun: 80 % of the sum.
func TestU15_SkewAddsNoLoss(t *testing.T) {
	for _, retransmit := range []bool{true, false} {
		base := Time(0)
		for _, skew := range []Time{0, 250 * Microsecond, Millisecond, 2 * Millisecond} {
			w := newPaths(t, 15, Config{Retransmit: retransmit}, path{gigabit, 100 * Microsecond, 0, 0, 1500},
				path{gigabit, 100*Microsecond + skew, 0, 0, 1500})
			w.run(100 * Millisecond)
			took := w.offer(1400, 800, w.now+250*Millisecond)
			w.run(w.now + 100*Millisecond)
			*took = (*took)[:0] // the estimates have settled
			w.run(w.now + 300*Millisecond)
			p99 := quantile(*took, 990)
			if skew == 0 {
				base = p99
			}
			t.Logf("retransmit %v, skew %v us: p50 %d us, p99 %d us, %d packets (simulated)", retransmit, skew/Microsecond, quantile(*took, 500)/Microsecond, p99/Microsecond, len(*took))
			if p99-base > skew+50*Microsecond {
				t.Errorf("skew %d us adds %d us to p99", skew/Microsecond, (p99-base)/Microsecond)
			}
			w.nothingDropped(t)
		}
	}
}

// nothingDropped checks that all of node 0's packets have reached node 1, and
// that no frame was dropped, lost or written off anywhere.
func (w *world) nothingDropped(t testing.TB) {
	t.Helper()
	for i, n := range w.nodes {
		rs := n.assoc.ReceiveStats()
		rs.Drops.Each(func(name string, n uint64) {
			if n != 0 {
				t.Errorf("node %d: %d frames dropped: %s", i, n, name)
			}
		})
		if rs.LostFrames+rs.Skipped+rs.ProvenLost+rs.HoleTimeouts != 0 {
			t.Errorf("node %d: %d frames lost, packets: %d skipped, %d proven lost, %d timed out", i,
				rs.LostFrames, rs.Skipped, rs.ProvenLost, rs.HoleTimeouts)
		}
	}
	sent := w.nodes[0].assoc.SendStats().Packets
	if got := w.nodes[1].assoc.ReceiveStats().Packets; got != sent {
		t.Errorf("%d packets sent, %d delivered", sent, got)
	}
}
