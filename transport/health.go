// SPDX-License-Identifier: Apache-2.0

package transport

// health is the liveness of one rail (docs/protocol.md 8). Times are on the
// sender's running clock.
type health struct {
	state    RailState
	reason   Reason
	carrier  bool
	enabled  bool
	here     bool // the peer is heard on it
	there    bool // the peer hears us on it
	proven   bool // a PING of the present MTU was answered since it was last down
	pingAt   Time // next regular PING
	pingDue  bool
	tailPing Time // when the oldest frame in flight was asked about; Never: not yet
	progress Time // when frames were last acknowledged
}

func newHealth(now Time) health {
	return health{reason: ReasonNew, carrier: true, enabled: true, pingAt: now, tailPing: Never}
}

// verdict gives the state that the facts call for.
func (h *health) verdict() (RailState, Reason) {
	switch {
	case !h.enabled:
		return RailDown, ReasonDisabled
	case !h.carrier:
		return RailDown, ReasonNoCarrier
	case !h.here && h.reason == ReasonNew:
		return RailDown, ReasonNew
	case !h.here:
		return RailDown, ReasonSilent
	case !h.there:
		return RailDown, ReasonUnheard
	case !h.proven && h.state == RailSuspect:
		return RailSuspect, ReasonUnanswered
	case !h.proven:
		return RailProbing, ReasonNone
	}
	return RailUp, ReasonNone
}

// judge moves a rail to the state that the facts call for, and what was in
// flight away from a rail that is no longer up.
func (s *Sender) judge(now Time, r *sendRail, in *Inbox) {
	h := &r.health
	state, reason := h.verdict()
	if state == h.state && reason == h.reason {
		return
	}
	was := h.state
	h.state, h.reason = state, reason
	switch state {
	case RailDown:
		h.proven = false
		r.probe = newProbe(s.running(now), r.MTU)
	case RailUp:
		h.tailPing = Never
	}
	if was == RailUp {
		r.stats.Flaps++
		s.moveAway(r)
	}
	s.membership(now)
	in.Events = append(in.Events, Event{Kind: EventRail, Rail: r.ID, State: state, Reason: reason})
}

// suspect stops trusting a rail until it answers.
func (s *Sender) suspect(now Time, r *sendRail, in *Inbox) {
	r.stats.Suspicions++
	r.health.proven = false
	r.health.state = RailSuspect // judged from: a rail that was up, unproven now
	r.health.reason = ReasonUnanswered
	r.probe = suspectProbe(s.running(now), r.mtu)
	r.stats.Flaps++
	s.moveAway(r)
	s.membership(now)
	in.Events = append(in.Events, Event{Kind: EventRail, Rail: r.ID, State: RailSuspect, Reason: ReasonUnanswered})
}

// suspicion is how long frames may be in flight while none is acknowledged.
func (r *sendRail) suspicion() Time { return max(suspectLeast, 4*r.estimate.smoothed) }

// checkTail asks about frames in flight of which none is acknowledged, and
// suspects the rail when the question is not answered either.
func (s *Sender) checkTail(now Time, r *sendRail, in *Inbox) {
	h := &r.health
	if h.state != RailUp || r.ledger.len() == 0 {
		h.tailPing = Never
		return
	}
	run, patience := s.running(now), r.suspicion()
	age := run - max(h.progress, r.ledger.at(r.ledger.una).sentAt)
	switch {
	case h.tailPing == Never && age >= patience/2:
		h.tailPing, h.pingDue = run, true
	case h.tailPing != Never && age >= patience && run-h.tailPing >= patience/2:
		s.suspect(now, r, in)
	}
}

// membership follows a change of the rails that may carry data: the outage
// clock, the announced set, the active list.
func (s *Sender) membership(now Time) {
	s.refreshActive()
	run := s.running(now)
	switch {
	case len(s.active) == 0 && s.outageSince == Never:
		s.outageSince = run
	case len(s.active) > 0 && s.outageSince != Never:
		s.outage += run - s.outageSince
		s.outageSince = Never
	}
	s.announceSet()
}

// running is the time less what this host itself was stopped.
func (s *Sender) running(now Time) Time { return now - s.stalled }

// usable is the running time less that in which no rail could carry data.
func (s *Sender) usable(now Time) Time {
	run := s.running(now)
	if s.outageSince != Never {
		run = s.outageSince
	}
	return run - s.outage
}
