// SPDX-License-Identifier: Apache-2.0

package transport

// estimate is what a Sender has learnt of one rail's path (docs/protocol.md 6).
type estimate struct {
	rate    Rate
	inverse uint64 // ns per byte in 2^-20
	rates   [ratesKept]Rate
	ratesAt int

	smoothed Time // of the round trip; 0 before the first sample
	least    Time // of the round trip, lately
	leastOld Time // of the window before
	leastAt  Time // when the current window began

	delay  Time // one way, above the bundle's least
	skew   Time // of a slower rail, which the stream waits for anyway
	window int  // bytes that may be in flight
	floor  int  // its least

	delivered uint64 // bytes acknowledged, ever
	round     round
	slowStart bool
	atFloor   int // rounds spent at the floor though the path is slow
}

// round measures from one acknowledgement to that of the first frame sent
// after it.
type round struct {
	stamp     uint32 // of the state that began it: on the peer's clock, so that acks may take any rail
	timed     bool   // stamp is set
	marker    Seq
	delivered uint64
	least     Time // round trip; Never before a sample
	starved   bool // the sender ran out of data
	blocked   bool // the window held the sender back
	drain     bool // the window was cut to see the path without a queue
}

func newEstimate(now Time, rate Rate, frame int) estimate {
	if rate == 0 {
		rate = rateFirst
	}
	e := estimate{leastAt: now, least: Never, leastOld: Never, slowStart: true}
	e.floor = windowFrames * frame
	e.window = max(windowFirst, e.floor)
	e.setRate(rate)
	e.round = round{least: Never, starved: true}
	return e
}

func (e *estimate) setRate(r Rate) {
	e.rate = max(r, rateMin)
	e.inverse = e.rate.inverse()
}

// setFloor follows a change of the largest frame.
func (e *estimate) setFloor(frame int) {
	e.floor = windowFrames * frame
	e.window = max(e.window, e.floor)
}

// timeFor gives the ns that n bytes take at the measured rate.
func (e *estimate) timeFor(n int) Time { return Time(uint64(n) * e.inverse >> 20) }

// leastRTT is the least round trip seen lately, 0 before the first.
func (e *estimate) leastRTT() Time {
	if l := min(e.least, e.leastOld); l != Never {
		return l
	}
	return 0
}

// limit is how many bytes may be in flight now.
func (e *estimate) limit() int {
	if e.round.drain {
		return max(e.floor, e.window/2)
	}
	return e.window
}

// sample takes a true round trip.
func (e *estimate) sample(rtt Time) {
	rtt = max(rtt, 1)
	if e.smoothed == 0 {
		e.smoothed = rtt
	}
	e.smoothed += (rtt - e.smoothed) >> 3
	e.least = min(e.least, rtt)
	e.round.least = min(e.round.least, rtt)
}

// acked advances the round when the ledger has passed its marker.
func (e *estimate) acked(now Time, stamp uint32, una, next Seq, inFlight int) {
	r := &e.round
	if !r.timed {
		*r = round{stamp: stamp, timed: true, marker: next, delivered: e.delivered, least: Never, starved: true}
		return
	}
	took := Time(int32(stamp-r.stamp)) << 10
	if inFlight == 0 {
		r.starved = r.starved || !r.blocked
	}
	if una.Before(r.marker) || took < max(roundLeast, e.leastRTT()) {
		return
	}
	if una == r.marker && una != next {
		return // the marker itself is not acknowledged yet
	}
	e.measureRate(took)
	e.adjustWindow(now)
	*r = round{stamp: stamp, timed: true, marker: next, delivered: e.delivered, least: Never, drain: e.drainDue(now)}
}

// measureRate takes the round's sample into the highest of the last few.
func (e *estimate) measureRate(took Time) {
	rate := Rate((e.delivered - e.round.delivered) << 20 / uint64(took))
	if e.round.starved && rate <= e.rate {
		return
	}
	e.rates[e.ratesAt%ratesKept] = rate
	e.ratesAt++
	best := Rate(0)
	for _, r := range e.rates {
		best = max(best, r)
	}
	e.setRate(best)
}

// adjustWindow steers the queue on the path to at most queueTarget.
func (e *estimate) adjustWindow(now Time) {
	r := &e.round
	if r.least == Never {
		return
	}
	queue := r.least - e.leastRTT()
	target := max(queueTarget, e.leastRTT()/4, e.skew+queueTarget/4)
	enough := max(target/2, e.skew+queueTarget/8)
	switch {
	case queue > target:
		e.slowStart = false
		e.window = max(e.floor, e.window-e.window/8)
		e.notePathChange(r.least)
	case queue >= enough || !r.blocked || r.drain:
		// Enough, or no sign that more would be used.
	case e.slowStart:
		e.window = min(windowMost, 2*e.window)
	default:
		e.window = min(windowMost, e.window+e.window/4)
	}
	if queue <= target {
		e.atFloor = 0
	}
}

// notePathChange takes a slow path at the least window for what it is.
func (e *estimate) notePathChange(rtt Time) {
	if e.window > e.floor {
		return
	}
	if e.atFloor++; e.atFloor >= floorRounds {
		e.least, e.leastOld, e.atFloor = rtt, Never, 0
	}
}

// drainDue turns the window of least round trips, and asks for a round with a
// short queue so that the new one holds a true least.
func (e *estimate) drainDue(now Time) bool {
	if now-e.leastAt < rttWindow {
		return false
	}
	e.leastAt = now
	e.leastOld, e.least = e.least, Never
	return true
}
