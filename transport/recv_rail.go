// SPDX-License-Identifier: Apache-2.0

package transport

import "github.com/tbnet2/tbnet2/wire"

// recvRail is the receive half's view of one rail.
type recvRail struct {
	id, peerID RailID
	ring       uint32 // bytes of receive ring told as credit
	noCRC      bool
	next       Seq
	gaps       [wire.GapsMax]lostRun // a ring, oldest at gapAt
	gapAt      int
	gapCount   int
	started    Seq // sequences before it are not spoken for
	heardAt    Time
	heard      bool // heardAt is set
	ledgered   int  // frames since the last state that told of the rail
	news       bool
	sampled    bool // transit has a sample of this batch

	transit transit
	// RFC 1990: the packet of each channel before which nothing comes any
	// more, where known.
	position [wire.Channels]Seq
	known    uint16

	frames, bytes, lost, reordered uint64
}

// lostRun is a gap in the rail sequence.
type lostRun struct {
	first Seq
	count uint32
}

// transit keeps the least one-way time of late, in units of 1024 ns and off by
// the difference of the clocks.
type transit struct {
	least, leastOld int32
	some, someOld   bool
	since           Time
}

// sample takes one arrival.
func (t *transit) sample(now Time, stamp uint32) {
	if now-t.since >= delayWindow {
		t.leastOld, t.someOld, t.some = t.least, t.some, false
		t.since = now
	}
	d := int32(now.Stamp() - stamp)
	if !t.some || d-t.least < 0 {
		t.least, t.some = d, true
	}
}

// value gives the least, and whether there is one.
func (t *transit) value() (int32, bool) {
	switch {
	case t.some && t.someOld && t.leastOld-t.least < 0:
		return t.leastOld, true
	case t.some:
		return t.least, true
	}
	return t.leastOld, t.someOld
}

// arrive follows the rail sequence of a frame. It reports whether there is a
// gap before it, and false for ok when the sequence cannot be.
func (r *recvRail) arrive(seq Seq, ledgered bool) (gap, ok bool) {
	ahead := seq.Sub(r.next)
	switch {
	case ahead == 0:
	case ahead > seqJumpMost || ahead < -seqJumpMost:
		return false, false
	case ahead < 0:
		if ledgered {
			r.reordered++
		}
		return false, true
	default:
		r.addGap(lostRun{r.next, uint32(ahead)})
		r.next, gap = seq, true
	}
	if ledgered {
		r.next++
		r.ledgered++
	}
	return gap, true
}

// refuse tells the frame that came last as lost, so that it is sent again: it
// could not be held. One that was late was told of before.
func (r *recvRail) refuse(seq Seq) {
	if seq+1 != r.next {
		return
	}
	r.news = true
	if r.gapCount > 0 {
		last := &r.gaps[(r.gapAt+r.gapCount-1)%len(r.gaps)]
		if last.first+Seq(last.count) == seq && last.count < ledgerMost {
			last.count++
			return
		}
	}
	r.keepGap(lostRun{seq, 1})
}

func (r *recvRail) addGap(g lostRun) {
	r.lost += uint64(g.count)
	r.keepGap(g)
}

// keepGap adds the newest gap, in the place of the oldest if need be.
func (r *recvRail) keepGap(g lostRun) {
	if r.gapCount == len(r.gaps) {
		old := r.gaps[r.gapAt]
		r.started = old.first + Seq(old.count) // what came before is no longer told
		r.gapAt = (r.gapAt + 1) % len(r.gaps)
		r.gapCount--
	}
	r.gaps[(r.gapAt+r.gapCount)%len(r.gaps)] = g
	r.gapCount++
}

// ack fills in the block that tells of this rail.
func (r *recvRail) ack(a *wire.RailAck) {
	const depthMost = ledgerMost // the peer has no more in flight
	if r.next.Sub(r.started) > depthMost {
		r.started = r.next - depthMost
	}
	for r.gapCount > 0 && r.gaps[r.gapAt].first.Before(r.started) {
		old := r.gaps[r.gapAt] // of which no part may count as arrived
		r.started = maxSeq(r.started, old.first+Seq(old.count))
		r.gapAt = (r.gapAt + 1) % len(r.gaps)
		r.gapCount--
	}
	a.Rail, a.Next, a.Depth, a.Credit = uint8(r.peerID), uint32(r.next), uint16(r.next.Sub(r.started)), r.ring
	a.Count = uint8(r.gapCount)
	for i := range r.gapCount {
		g := r.gaps[(r.gapAt+i)%len(r.gaps)]
		a.Gaps[i] = wire.Gap{Back: uint16(r.next - g.first), Count: uint16(g.count)}
	}
	r.news, r.ledgered = false, 0
}
