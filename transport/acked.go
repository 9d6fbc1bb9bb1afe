// SPDX-License-Identifier: Apache-2.0

package transport

import "github.com/tbnet2/tbnet2/wire"

// apply takes the states that a batch of received frames brought.
func (s *Sender) apply(now Time, in *Inbox) {
	s.noticeStall(now)
	s.settle()
	s.control.take(in)
	for i := range in.states {
		s.applyState(now, &in.states[i], in)
	}
}

// applyState takes one PING, PONG or ACK. What cannot be is counted and left.
func (s *Sender) applyState(now Time, f *stateFrame, in *Inbox) {
	var st wire.State
	rest, err := wire.ParseState(f.body, &st)
	if err != nil {
		s.stats.BadStates++
		return
	}
	s.stats.Acks++
	slowest := s.slowest()
	for range st.Rails {
		var a wire.RailAck
		if rest, err = wire.ParseRailAck(rest, &a); err != nil {
			s.stats.BadStates++
			return
		}
		s.applyRail(now, st.Stamp, slowest, &a)
	}
	for range st.Channels {
		var a wire.ChannelAck
		if a, rest, err = wire.ParseChannelAck(rest); err != nil {
			s.stats.BadStates++
			return
		}
		s.applyChannel(a)
	}
	if s.isNewest(st.Stamp) {
		s.applyHeard(now, RailSet(st.Heard), in)
		s.applyGeneration(now, st.Generation)
	}
	if f.kind == wire.TypePong {
		s.applyPong(now, f.rail, st.Echo, in)
	}
}

// isNewest reports whether a state was made after all that came before: states
// overtake each other on different rails.
func (s *Sender) isNewest(stamp uint32) bool {
	if s.anyState && int32(stamp-s.newestState) < 0 {
		return false
	}
	s.newestState, s.anyState = stamp, true
	return true
}

// applyRail decides the sequences that a rail block speaks for.
func (s *Sender) applyRail(now Time, stamp uint32, slowest Time, a *wire.RailAck) {
	r := s.rails[a.Rail]
	if r == nil {
		return // removed meanwhile
	}
	l := &r.ledger
	next := Seq(a.Next)
	if l.next.Before(next) {
		s.stats.BadStates++ // acknowledges what was never sent
		return
	}
	if next.Before(l.una) {
		s.stats.StaleAcks++
		return
	}
	r.estimate.delay = Time(a.Delay)
	r.credit = max(r.credit, l.startOf(next)+uint64(a.Credit))
	if next == l.una {
		return
	}
	s.decide(now, r, a)
	r.health.tailPing, r.health.progress = Never, s.running(now)
	r.estimate.skew = min(skewMost, max(0, slowest-r.estimate.delay))
	r.estimate.acked(now, stamp, l.una, l.next, l.inFlight)
}

// slowest is the longest delay of a rail that carries data.
func (s *Sender) slowest() Time {
	delay := Time(0)
	for _, r := range s.active {
		delay = max(delay, r.estimate.delay)
	}
	return delay
}

// decide takes sequences [una, a.Next) off the ledger: acknowledged but for
// the gaps and for what lies before the block's depth.
func (s *Sender) decide(now Time, r *sendRail, a *wire.RailAck) {
	l := &r.ledger
	next := Seq(a.Next)
	floor := next - Seq(a.Depth)
	gap := 0
	if a.Count == 0 && !l.una.Before(floor) {
		s.acknowledge(now, r, next)
		return
	}
	for seq := l.una; seq != next; seq++ {
		back := next - seq // at least 1
		for gap < int(a.Count) && Seq(a.Gaps[gap].Back)-Seq(a.Gaps[gap].Count) >= back {
			gap++
		}
		lost := seq.Before(floor) || gap < int(a.Count) && Seq(a.Gaps[gap].Back) >= back
		e := l.popOldest()
		if lost {
			s.lose(r, e)
			continue
		}
		r.estimate.delivered += uint64(e.size)
		if e.packet != nil {
			s.unref(e.packet)
		}
		if seq+1 == next && e.flags&entryAckNow != 0 {
			r.estimate.sample(s.running(now) - e.sentAt)
		}
	}
}

// acknowledge is decide where nothing is lost.
func (s *Sender) acknowledge(now Time, r *sendRail, next Seq) {
	l := &r.ledger
	if e := l.at(next - 1); e.flags&entryAckNow != 0 {
		r.estimate.sample(s.running(now) - e.sentAt)
	}
	bytes := l.startOf(next) - l.at(l.una).start
	r.estimate.delivered += bytes
	l.inFlight -= int(bytes)
	for ; l.una != next; l.una++ {
		e := l.at(l.una)
		if p := e.packet; p != nil {
			e.packet = nil
			s.unref(p)
		}
	}
}

// lose queues the content of a lost frame to be sent again, or writes it off.
func (s *Sender) lose(r *sendRail, e entry) {
	s.stats.Lost++
	r.stats.Lost++
	s.displace(r, e)
}

// displace finds a new use for the content of a ledger entry that will not be
// acknowledged.
func (s *Sender) displace(r *sendRail, e entry) {
	switch {
	case e.marks != 0:
		s.forgetPosition(r, e.marks)
	case e.packet == nil:
	case s.cfg.Retransmit && !e.packet.givenUp && !sabotageRetransmit:
		e.packet.displaced = true
		s.resend.pushBack(span{e.packet, e.off, e.n, r.ID})
	default:
		s.unref(e.packet)
	}
}

// moveAway displaces all that is in flight on a rail.
func (s *Sender) moveAway(r *sendRail) {
	for r.ledger.len() > 0 {
		s.stats.Suspected++
		s.displace(r, r.ledger.popOldest())
	}
	r.health.tailPing = Never
	r.unflagged = 0
}

// applyChannel moves a channel's window. Limits never move back.
func (s *Sender) applyChannel(a wire.ChannelAck) {
	c := &s.channels[a.Channel]
	next := Seq(a.Next)
	if c.next.Before(next) {
		s.stats.BadStates++ // acknowledges what was never begun
		return
	}
	if next.Before(c.acked) {
		s.stats.StaleAcks++
		return
	}
	c.limit = max(c.limit, c.startOf(next)+uint64(a.Window))
	c.acked = next
	c.skip = maxSeq(c.skip, next) // level, lest it seem ahead half the numbers later
	c.waiting = false
}

// applyHeard notes which of our rails the peer hears.
func (s *Sender) applyHeard(now Time, heard RailSet, in *Inbox) {
	for id := range s.railSet.All() {
		if r := s.rails[id]; r.health.there != heard.Has(id) {
			r.health.there = heard.Has(id)
			s.judge(now, r, in)
		}
	}
}

// applyPong takes a round trip and the answer to a probe.
func (s *Sender) applyPong(now Time, id RailID, echo uint32, in *Inbox) {
	r := s.rails[id]
	if r == nil {
		return
	}
	r.health.tailPing = Never
	if rtt := Time(int32(now.Stamp()-echo)) << 10; rtt >= 0 && rtt < downAfter {
		r.estimate.sample(rtt)
		if r.health.state == RailSuspect {
			// The rail was slow, not dead: be as patient from now on.
			r.estimate.smoothed = max(r.estimate.smoothed, rtt)
		}
	}
	if r.probe.answers(echo) {
		s.proved(now, r, in)
		s.judge(now, r, in)
	}
}
