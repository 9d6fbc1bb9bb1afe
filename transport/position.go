// SPDX-License-Identifier: Apache-2.0

package transport

import "github.com/tbnet2/tbnet2/wire"

// announcement is the rail set that the peer is told, without retransmission
// (docs/protocol.md 4).
type announcement struct {
	generation uint32
	rails      RailSet
	acked      uint32 // newest generation the peer has seen
	at         Time   // running clock: when it is told next
}

// candidates are the rails the set is made of: in use and up.
func (s *Sender) candidates() RailSet {
	set := RailSet(0)
	for id := range s.railSet.All() {
		if r := s.rails[id]; r.health.state == RailUp && r.inUse {
			set = set.With(id)
		}
	}
	return set
}

// announceSet begins a new generation when the set has changed.
func (s *Sender) announceSet() {
	if s.cfg.Retransmit {
		return
	}
	set := s.candidates()
	if set == s.set.rails {
		return
	}
	s.set.rails = set
	s.set.generation++
	s.set.at = 0
	for id := range s.railSet.All() {
		r := s.rails[id]
		r.announced = r.announced && set.Has(id)
		if !set.Has(id) {
			s.forgetPosition(r, 1<<wire.Channels-1) // as the peer does
			r.behindSince = Never
		} else if r.behindSince == Never {
			r.behindSince = 0 // its first POSITION is due
		}
	}
}

// applyGeneration opens the rails of a set that the peer has seen.
func (s *Sender) applyGeneration(now Time, generation uint32) {
	if s.cfg.Retransmit || s.set.acked == generation || generation != s.set.generation {
		return
	}
	s.set.acked = generation
	for id := range s.set.rails.All() {
		s.rails[id].announced = true
	}
	s.membership(now)
}

// sendRailSet tells the set on every rail until the peer has seen it.
func (s *Sender) sendRailSet(now Time, b *Burst) bool {
	const size = wire.HeaderLen + wire.RailSetLen
	run := s.running(now)
	if s.cfg.Retransmit || s.set.acked == s.set.generation || run < s.set.at {
		return true
	}
	for id := range s.railSet.All() {
		r := s.rails[id]
		if h := &r.health; !h.here || !h.carrier || !h.enabled || r.busy {
			continue
		}
		if !b.room(size) {
			return false
		}
		head := b.head(size)
		wire.AppendRailSet(head[wire.HeaderLen:wire.HeaderLen],
			wire.RailSet{Generation: s.set.generation, Rails: uint64(s.set.rails)})
		s.putControl(head, wire.TypeRailSet, r, size)
		b.add(id, Frame{Head: head})
	}
	s.set.at = run + railSetInterval
	return true
}

// noticePosition notes that the peer will learn r's position from a fragment
// of p, and that the other rails fall behind.
func (s *Sender) noticePosition(now Time, r *sendRail, p *Packet) {
	r.position[p.Channel] = p.number
	for _, o := range s.active {
		if o.behindSince == Never {
			o.behindSince = s.running(now)
		}
	}
}

// forgetPosition has the positions of a lost or refused POSITION told again.
func (s *Sender) forgetPosition(r *sendRail, marks uint16) {
	for ch := range r.position {
		if marks>>ch&1 != 0 {
			r.position[ch] = s.channels[ch].acked - 1
		}
	}
	r.behindSince = 0
}

// positionsDue reports whether some rail has to tell where it is.
func (s *Sender) positionsDue() bool {
	for _, r := range s.active {
		if r.behindSince != Never {
			return true
		}
	}
	return false
}

// sendPositions tells, on every rail that has fallen behind, which packet of
// each channel is the next that could come on it.
func (s *Sender) sendPositions(now Time, b *Burst) bool {
	if s.cfg.Retransmit {
		return true
	}
	run := s.running(now)
	for _, r := range s.active {
		if r.behindSince == Never || run-r.behindSince < positionDelay || r.busy || r.held > 0 {
			continue
		}
		if !s.sendPosition(run, b, r) {
			return false
		}
	}
	return true
}

// sendPosition adds one POSITION frame with every channel in which r is behind.
func (s *Sender) sendPosition(run Time, b *Burst, r *sendRail) bool {
	if !b.room(wire.HeaderLen+wire.Channels*wire.MarkLen) || !r.ledger.room() {
		return false
	}
	var marks uint16
	var body [wire.Channels * wire.MarkLen]byte
	out := body[:0]
	for ch := range s.channels {
		next := s.nextPosition(ch)
		if s.channels[ch].open == nil || r.position[ch] == next {
			continue
		}
		r.position[ch] = next
		marks |= 1 << ch
		out = wire.AppendMark(out, wire.Mark{Channel: uint8(ch), Packet: uint32(next)})
	}
	r.behindSince = Never
	if marks == 0 {
		return true
	}
	size := wire.HeaderLen + len(out)
	head := b.head(size)
	copy(head[wire.HeaderLen:], out)
	s.putControl(head, wire.TypePosition, r, size)
	r.ledger.push(entry{size: int32(size), marks: marks, sentAt: run})
	b.add(r.ID, Frame{Head: head})
	s.stats.PositionsSent++
	return true
}

// nextPosition is the first packet of which a fragment may still be cut.
func (s *Sender) nextPosition(ch int) Seq {
	c := &s.channels[ch]
	if c.head != nil && c.head.cut > 0 {
		return c.head.number
	}
	return c.next
}
