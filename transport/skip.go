// SPDX-License-Identifier: Apache-2.0

package transport

import "github.com/tbnet2/tbnet2/wire"

// giveUpOld gives up the packets that have been under way for too long and of
// which something was lost (docs/protocol.md 4).
func (s *Sender) giveUpOld(now Time) {
	if s.cfg.Class != Ordered || !s.cfg.Retransmit {
		return
	}
	limit := s.usable(now) - max(giveUpLeast, 2*s.bundleRTT())
	for i := range s.channels {
		c := &s.channels[i]
		for seq := maxSeq(c.acked, c.skip); seq.Before(c.next); seq++ {
			p := c.open[c.slot(seq)]
			if p == nil {
				continue // acknowledged, or given up
			}
			if p.firstSent > limit || !p.displaced {
				break // what is only under way may not be skipped, nor anything behind it
			}
			s.giveUp(i, p)
		}
	}
}

// maxSeq gives the later of the two.
func maxSeq(a, b Seq) Seq {
	if a.Before(b) {
		return b
	}
	return a
}

// giveUp abandons a packet: what is not cut is not, and what is in flight is
// not sent again.
func (s *Sender) giveUp(ch int, p *Packet) {
	c := &s.channels[ch]
	p.givenUp = true
	c.skip, c.skipAt = p.number+1, 0
	if p.cut < p.total {
		s.queued -= int(p.total - p.cut)
		p.cut = p.total
		c.pop() // only the head of a channel can be half cut
		s.requeue(ch)
	}
	c.close(p)
	p.refs++
	s.unref(p) // finishes it if nothing names it
}

// bundleRTT is the longest smoothed round trip of a rail that carries data.
func (s *Sender) bundleRTT() Time {
	rtt := Time(0)
	for _, r := range s.active {
		rtt = max(rtt, r.estimate.smoothed)
	}
	return rtt
}

// skipsDue reports whether some channel has a SKIP under way.
func (s *Sender) skipsDue() bool {
	for i := range s.channels {
		if c := &s.channels[i]; c.acked.Before(c.skip) {
			return true
		}
	}
	return false
}

// sendSkips repeats SKIP for every channel whose peer has not passed it.
func (s *Sender) sendSkips(now Time, b *Burst) bool {
	const size = wire.HeaderLen + wire.MarkLen
	for i := range s.channels {
		c := &s.channels[i]
		if !c.acked.Before(c.skip) || s.usable(now) < c.skipAt {
			continue
		}
		r := s.ackRail()
		if r == nil {
			return true
		}
		if !b.room(size) {
			return false
		}
		head := b.head(size)
		wire.AppendMark(head[wire.HeaderLen:wire.HeaderLen], wire.Mark{Channel: uint8(i), Packet: uint32(c.skip)})
		s.putControl(head, wire.TypeSkip, r, size)
		b.add(r.ID, Frame{Head: head})
		c.skipAt = s.usable(now) + skipInterval
		s.stats.SkipsSent++
	}
	return true
}
