// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"testing"
)

// txShares gives the bytes that node 0 has sent on each rail since the last
// call, per mille of all.
func (w *world) txShares(before []uint64) (perMille []int, now []uint64) {
	sum := uint64(0)
	for line := range w.lines[0] {
		st, _ := w.nodes[0].assoc.RailStats(w.nodes[0].railID(line))
		now = append(now, st.TxBytes)
		if before != nil {
			sum += st.TxBytes - before[line]
		}
	}
	for line := range before {
		perMille = append(perMille, int((now[line]-before[line])*1000/max(1, sum)))
	}
	return perMille, now
}

func TestWeights(t *testing.T) {
	for _, tt := range []struct {
		weights []int
		want    []int // per mille
	}{
		{[]int{1, 1}, []int{500, 500}},
		{[]int{1, 3}, []int{250, 750}},
		{[]int{5, 1}, []int{833, 167}},
		{[]int{1, 0}, []int{500, 500}}, // one alone has nothing to be weighed against
	} {
		w := newPaths(t, 3, Config{Retransmit: true}, path{gigabit / 4, 100 * Microsecond, 0, 0, 1500}, path{gigabit / 4, 100 * Microsecond, 0, 0, 1500})
		for line, weight := range tt.weights {
			w.nodes[0].assoc.SetWeight(w.nodes[0].railID(line), weight)
		}
		w.saturate(w.nodes[0], 0, 9000)
		w.run(200 * Millisecond)
		_, before := w.txShares(nil)
		w.run(w.now + 500*Millisecond)
		got, _ := w.txShares(before)
		for line, want := range tt.want {
			if got[line] < want-20 || got[line] > want+20 {
				t.Errorf("weights %v: shares %v per mille, want %v", tt.weights, got, tt.want)
				break
			}
		}
	}
}

// TestPolicies: the policies that exist to be compared use the rails as they
// say. Rail 1 has a quarter of the rate of rail 0.
func TestPolicies(t *testing.T) {
	for _, tt := range []struct {
		policy   Policy
		channels int
		want     []int
	}{
		{Shortest, 1, []int{800, 200}},
		{RoundRobin, 1, []int{800, 200}}, // a full rail is passed over
		{FlowHash, 1, []int{1000, 0}},
		{FlowHash, 2, []int{800, 200}},
	} {
		w := newPaths(t, 3, Config{Retransmit: true, Policy: tt.policy}, path{gigabit / 2, 100 * Microsecond, 0, 0, 1500}, path{gigabit / 8, 100 * Microsecond, 0, 0, 1500})
		w.offerEvenly(tt.channels, 4000)
		w.run(200 * Millisecond)
		_, before := w.txShares(nil)
		w.run(w.now + 300*Millisecond)
		got, _ := w.txShares(before)
		for line, want := range tt.want {
			if got[line] < want-40 || got[line] > want+40 {
				t.Errorf("policy %d, %d channels: shares %v per mille, want %v", tt.policy, tt.channels, got, tt.want)
				break
			}
		}
	}
}

// offerEvenly keeps some packets of each channel queued.
func (w *world) offerEvenly(channels, size int) {
	n := w.nodes[0]
	var done [4]int
	var step func()
	step = func() {
		for ch := range channels {
			for c := &n.assoc.send.channels[ch]; done[ch]-int(c.next) < 100 && n.submit(uint8(ch), size, false); {
				done[ch]++
			}
		}
		n.flush()
		n.arm()
		w.at(w.now+200*Microsecond, step)
	}
	w.at(w.now, step)
}

// TestChannelsShare: channels that all have data get the same, whatever the
// size of their packets, and a packet of a channel that was idle does not wait
// for what is queued before it.
func TestChannelsShare(t *testing.T) {
	w := newPaths(t, 3, Config{Retransmit: true, QueueBytes: 8 << 20}, path{gigabit / 4, 100 * Microsecond, 0, 0, 1500})
	sizes := []int{500, 9000, 65000}
	var got [4]int
	var waited, sentAt Time
	w.nodes[1].delivered = func(d *Delivery) {
		got[d.Channel] += len(d.Data)
		if d.Channel == 3 {
			waited = max(waited, w.now-sentAt)
		}
	}
	w.run(50 * Millisecond)
	feed := func() { // half a MiB each
		for ch, size := range sizes {
			for range 512 << 10 / size {
				w.nodes[0].submit(uint8(ch), size, false)
			}
		}
		w.nodes[0].flush()
		w.nodes[0].arm()
	}
	feed()
	for range 10 {
		w.run(w.now + 2*Millisecond)
		sentAt = w.now
		w.nodes[0].submit(3, 100, false)
		w.nodes[0].flush()
		w.nodes[0].arm()
	}
	low, high := min(got[0], got[1], got[2]), max(got[0], got[1], got[2])
	if high-low > 2*65000 {
		t.Errorf("channels got %v bytes of what they all wanted", got[:3])
	}
	if waited > 4*Millisecond { // the path's own queue, not the 50 ms that are queued here
		t.Errorf("a small packet of an idle channel took %d us", waited/Microsecond)
	}
	if got[3] == 0 {
		t.Error("no small packet came")
	}
}
