// SPDX-License-Identifier: Apache-2.0

package transport

// tick does what time asks of the send half: liveness, PINGs, giving up.
func (s *Sender) tick(now Time, in *Inbox) {
	s.noticeStall(now)
	run := s.running(now)
	for id := range s.railSet.All() {
		s.tickRail(now, run, s.rails[id], in.owed.heard.Has(id), in)
	}
	s.giveUpOld(now)
	s.due = s.nextTick(now)
}

// noticeStall adds the time that this host itself was stopped to all
// deadlines. That a tick is late shows it, to whatever is called first.
func (s *Sender) noticeStall(now Time) {
	if late := now - s.due; late > ownStall {
		s.stalled += late
		s.due = now
	}
}

func (s *Sender) tickRail(now, run Time, r *sendRail, heard bool, in *Inbox) {
	h := &r.health
	h.here = heard
	s.judge(now, r, in)
	s.checkTail(now, r, in)
	r.probe.expire(run, r.mtu)
	r.probe.retry(run, r.mtu, r.MTU)
	if !h.carrier || !h.enabled {
		return
	}
	if run >= h.pingAt || r.probe.size != 0 && h.here && run >= r.probe.due {
		h.pingDue = true
	}
	if s.starved(r) && run >= h.pingAt-pingInterval+suspectPing {
		h.pingDue = true
	}
}

// starved reports whether a rail waits for credit with nothing in flight whose
// acknowledgement could bring it.
func (s *Sender) starved(r *sendRail) bool {
	return s.queued > 0 && r.ledger.len() == 0 && r.health.state == RailUp
}

// nextTick is when time will ask for something again.
func (s *Sender) nextTick(now Time) Time {
	next := now + pingInterval
	busy := s.queued > 0 || s.resend.count > 0 || s.skipsDue() || s.positionsDue() || s.control.ackDue
	for id := range s.railSet.All() {
		r := s.rails[id]
		busy = busy || r.ledger.len() > 0
		next = min(next, max(now+busyTick, r.health.pingAt+s.stalled))
		if r.probe.size != 0 && r.health.here {
			next = min(next, max(now+busyTick, r.probe.due+s.stalled))
		}
	}
	if !s.cfg.Retransmit && s.set.acked != s.set.generation {
		busy = true
	}
	if busy {
		return now + busyTick
	}
	return next
}

// close aborts every packet.
func (s *Sender) close() {
	if s.closed {
		return
	}
	s.closed = true
	s.settle()
	for id := range s.railSet.All() {
		for l := &s.rails[id].ledger; l.len() > 0; {
			if e := l.popOldest(); e.packet != nil {
				s.unref(e.packet)
			}
		}
	}
	for s.resend.count > 0 {
		s.dropSpan(s.resend.front())
	}
	for i := range s.channels {
		for c := &s.channels[i]; c.head != nil; {
			p := c.head
			c.pop()
			s.finish(p, Aborted)
		}
	}
	s.queued = 0
	s.settle()
}

func (s *Sender) snapshot() SendStats {
	st := s.stats
	st.QueuedBytes, st.ResendBytes = uint64(s.queued), uint64(s.resend.bytes)
	for id := range s.railSet.All() {
		st.InFlight += uint64(s.rails[id].ledger.len())
		st.InFlightBytes += uint64(s.rails[id].ledger.inFlight)
	}
	return st
}

func (r *Receiver) snapshot() ReceiveStats { return r.stats }
