// SPDX-License-Identifier: Apache-2.0

package transport

import "testing"

// drive acknowledges so many bytes per round to an estimate, rounds of 1 ms of
// the peer's clock, with the given round trip.
func drive(e *estimate, now *Time, rounds, bytes int, rtt Time, blocked bool) {
	for range rounds {
		*now += 1100 * Microsecond
		e.delivered += uint64(bytes)
		e.round.blocked = blocked
		e.round.starved = !blocked
		e.sample(rtt)
		e.acked(*now, now.Stamp(), e.round.marker+1, e.round.marker+2, bytes)
	}
}

// bytesFor is what a rate carries in a round of drive.
func bytesFor(gbps int) int { return gbps * gigabit * 11 / 10 }

func TestEstimateRate(t *testing.T) {
	now := Time(0)
	e := newEstimate(0, 0, 1500)
	if e.rate != rateFirst {
		t.Fatalf("untold rate is %d, want %d", e.rate, rateFirst)
	}
	near := func(what string, gbps int) {
		t.Helper()
		if got := int(e.rate.Bits() / 10_000_000); got < 98*gbps || got > 102*gbps {
			t.Errorf("%s: %d0 Mb/s, want %d Gb/s", what, got, gbps)
		}
	}
	drive(&e, &now, 10, bytesFor(4), 200*Microsecond, true)
	near("measured", 4)
	drive(&e, &now, 30, bytesFor(1)/10, 200*Microsecond, false)
	near("with too little to send", 4)
	drive(&e, &now, 1, bytesFor(5), 200*Microsecond, false)
	near("more than thought, with too little to send", 5)
	drive(&e, &now, ratesKept-1, bytesFor(1), 200*Microsecond, true)
	near("the best of the last rounds", 5)
	drive(&e, &now, 1, bytesFor(1), 200*Microsecond, true)
	near("slower for good", 1)
	drive(&e, &now, 20, 0, 200*Microsecond, true)
	if e.rate != rateMin {
		t.Errorf("rate of nothing is %d, want %d", e.rate, rateMin)
	}
}

// TestEstimateAcksElsewhere: a state that comes late, over a slower rail, does
// not change the measured rate, as it bears the time it was made.
func TestEstimateAcksElsewhere(t *testing.T) {
	e := newEstimate(0, 0, 1500)
	made := Time(0)
	for i := range 40 {
		made += 1100 * Microsecond
		e.delivered += uint64(bytesFor(2))
		e.round.blocked, e.round.starved = true, false
		e.sample(200 * Microsecond)
		late := Time(i%2) * 900 * Microsecond
		e.acked(made+late, made.Stamp(), e.round.marker+1, e.round.marker+2, 1)
	}
	if got := e.rate.Bits() / 10_000_000; got < 195 || got > 205 {
		t.Errorf("%d0 Mb/s, want 2 Gb/s", got)
	}
}

func TestEstimateWindow(t *testing.T) {
	now := Time(0)
	e := newEstimate(0, 0, 1500)
	first := e.window
	drive(&e, &now, 4, 1<<20, 200*Microsecond, false)
	if e.window != first {
		t.Errorf("window moves from %d to %d though it stopped nobody", first, e.window)
	}
	drive(&e, &now, 3, 1<<20, 200*Microsecond, true)
	if e.window != 8*first {
		t.Errorf("window is %d after three rounds of slow start, want %d", e.window, 8*first)
	}
	drive(&e, &now, 1, 1<<20, 200*Microsecond+queueTarget+Microsecond, true)
	if e.window != 7*first {
		t.Errorf("window is %d with too much queue, want %d", e.window, 7*first)
	}
	drive(&e, &now, 1, 1<<20, 200*Microsecond+queueTarget*3/4, true)
	if e.window != 7*first {
		t.Errorf("window is %d with enough queue, want %d", e.window, 7*first)
	}
	drive(&e, &now, 1, 1<<20, 200*Microsecond, true)
	if e.window != 7*first*5/4 {
		t.Errorf("window is %d with no queue, want %d", e.window, 7*first*5/4)
	}
	drive(&e, &now, 200, 1<<20, 200*Microsecond, true)
	if e.window > windowMost {
		t.Errorf("window is %d, at most %d", e.window, windowMost)
	}
	// A path that became long for good: down to the floor, then believed.
	long := 20 * Millisecond
	drive(&e, &now, 300, 1<<20, long, true)
	if e.leastRTT() != long || e.window < e.floor {
		t.Errorf("least round trip is %d us after the path has changed, want %d; window %d", e.leastRTT()/1000, long/1000, e.window)
	}
	e.setFloor(65535)
	if e.window < windowFrames*65535 {
		t.Errorf("window %d is less than %d of the largest frames", e.window, windowFrames)
	}
}

// TestEstimateSkew: beside a slower rail a queue of as much is wanted.
func TestEstimateSkew(t *testing.T) {
	now := Time(0)
	e := newEstimate(0, 0, 1500)
	e.skew = 2 * Millisecond
	drive(&e, &now, 1, 1<<20, 200*Microsecond, true)
	drive(&e, &now, 2, 1<<20, 2200*Microsecond, true)
	before := e.window
	drive(&e, &now, 1, 1<<20, 2200*Microsecond, true)
	if e.window <= before {
		t.Errorf("window stays at %d with a queue of 2 ms for a skew of 2 ms", before)
	}
	drive(&e, &now, 1, 1<<20, 200*Microsecond+2*Millisecond+queueTarget/4+2*Microsecond, true)
	if e.window >= 2*before {
		t.Errorf("window grows to %d with more queue than the skew allows", e.window)
	}
}

// TestEstimateOldLeast: a least round trip is forgotten, after a round with a
// short window to see a true one.
func TestEstimateOldLeast(t *testing.T) {
	now := Time(0)
	e := newEstimate(0, 0, 1500)
	drive(&e, &now, 5, 1<<20, 100*Microsecond, true)
	drained := false
	for now < 2*rttWindow+100*Millisecond {
		drive(&e, &now, 1, 1<<20, 700*Microsecond, true)
		if e.round.drain {
			drained = true
			if e.limit() > e.window/2 && e.limit() > e.floor {
				t.Errorf("limit is %d of %d in the round that drains", e.limit(), e.window)
			}
		}
	}
	if !drained {
		t.Error("no round drained the path")
	}
	if got := e.leastRTT(); got != 700*Microsecond {
		t.Errorf("least round trip is %d us, want 700", got/1000)
	}
}
