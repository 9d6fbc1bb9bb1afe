// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"fmt"
	"testing"
)

// gaps follows the longest pause between deliveries.
type gaps struct {
	last, longest Time
}

func (w *world) watchGaps() *gaps {
	g := &gaps{last: w.now}
	w.nodes[1].delivered = func(*Delivery) {
		g.longest = max(g.longest, w.now-g.last)
		g.last = w.now
	}
	return g
}

// TestFailover: a rail goes away under full load and comes back. The stream
// pauses for 300 ms at most and loses nothing where frames are sent again, and
// the rail is in use within 1 s of its return.
func TestFailover(t *testing.T) {
	for _, fault := range []string{"discards both ways", "discards forth", "discards back", "loses carrier"} {
		for _, index := range []int{0, 1} { // 0 is the quicker one, which carries the acks
			for _, retransmit := range []bool{true, false} {
				t.Run(fmt.Sprintf("rail %d %s, retransmit %v", index, fault, retransmit), func(t *testing.T) {
					failOver(t, index, fault, retransmit)
				})
			}
		}
	}
}

func failOver(t *testing.T, index int, fault string, retransmit bool) {
	w := newPaths(t, 4, Config{Retransmit: retransmit}, path{gigabit / 8, 100 * Microsecond, 0, 0, 1500},
		path{gigabit / 8, 200 * Microsecond, 0, 0, 1500})
	w.saturate(w.nodes[0], 0, 9000)
	w.run(150 * Millisecond)
	g := w.watchGaps()
	w.breakRail(index, fault, true)
	w.run(w.now + 400*Millisecond)
	stall := max(g.longest, w.now-g.last)
	if stall > 300*Millisecond {
		t.Errorf("the stream pauses for %d ms", stall/Millisecond)
	}
	rate := w.perMille(0, 100*Millisecond)
	if rate < 450 {
		t.Errorf("%d/1000 of the sum without the rail", rate)
	}
	w.breakRail(index, fault, false)
	back := w.untilUsed(index)
	if back > Second {
		t.Errorf("the rail is in use %d ms after its return", back/Millisecond)
	}
	if got := w.perMille(200*Millisecond, 100*Millisecond); got < 930 {
		t.Errorf("%d/1000 of the sum afterwards", got)
	}
	if st := w.nodes[0].assoc.SendStats(); retransmit && st.Outcomes[GivenUp] != 0 {
		t.Errorf("%d packets were given up", st.Outcomes[GivenUp])
	}
	t.Logf("stall %d us, %d/1000 of the sum without the rail, back after %d ms (simulated)", stall/Microsecond, rate, back/Millisecond)
}

// breakRail breaks or mends a rail.
func (w *world) breakRail(index int, fault string, broken bool) {
	forth, back := w.lines[0][index], w.lines[1][index]
	switch fault {
	case "discards both ways":
		forth.discard, back.discard = broken, broken
	case "discards forth":
		forth.discard = broken
	case "discards back":
		back.discard = broken
	case "loses carrier":
		for i, n := range w.nodes {
			w.lines[i][index].dead = broken
			n.assoc.SetCarrier(n.clock(), n.railID(index), !broken, &n.in)
			n.after()
		}
	}
}

// untilUsed runs until node 0 sends data on a rail of its own again, and gives
// how long that took.
func (w *world) untilUsed(index int) Time {
	began := w.now
	for w.now < began+5*Second {
		w.run(w.now + Millisecond)
		if st, _ := w.nodes[0].assoc.RailStats(w.nodes[0].railID(index)); st.State == RailUp && st.InFlight > 0 {
			break
		}
	}
	return w.now - began
}

// TestPathChanges: the delay or the rate of one rail changes a lot under full
// load; the sum of what the rails carry then is reached again.
func TestPathChanges(t *testing.T) {
	const rate = gigabit / 5
	for _, tt := range []struct {
		name   string
		change func(*line)
		back   func(*line)
	}{
		{"delay to 20 ms", func(l *line) { l.delay = 20 * Millisecond }, func(l *line) { l.delay = 100 * Microsecond }},
		{"rate to a tenth", func(l *line) { l.bytesPerMs = rate / 10 }, func(l *line) { l.bytesPerMs = rate }},
	} {
		for _, retransmit := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, retransmit %v", tt.name, retransmit), func(t *testing.T) {
				w := newPaths(t, 5, Config{Retransmit: retransmit}, path{rate, 100 * Microsecond, 0, 0, 1500},
					path{rate, 100 * Microsecond, 0, 0, 1500})
				w.saturate(w.nodes[0], 0, 9000)
				w.run(500 * Millisecond)
				for i, change := range []func(*line){tt.change, tt.back} {
					g := w.watchGaps()
					for dir := range w.lines {
						change(w.lines[dir][1])
					}
					took := w.untilPerMille(900, 10*Second)
					if took > 3*Second {
						t.Errorf("change %d: 900/1000 of the new sum only after %d ms", i, took/Millisecond)
					}
					if got := w.perMille(0, 500*Millisecond); got < 900 {
						t.Errorf("change %d: %d/1000 of the new sum", i, got)
					}
					t.Logf("change %d: recovered in %d ms, longest pause %d ms (simulated)", i, took/Millisecond, g.longest/Millisecond)
				}
				if st := w.nodes[0].assoc.SendStats(); st.Outcomes[GivenUp] != 0 {
					t.Errorf("%d packets were given up", st.Outcomes[GivenUp])
				}
			})
		}
	}
}

// untilPerMille runs until 100 ms in a row carry so much of the sum.
func (w *world) untilPerMille(want int, limit Time) Time {
	began := w.now
	for w.now < began+limit && w.perMille(0, 100*Millisecond) < want {
	}
	return w.now - began
}
