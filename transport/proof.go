// SPDX-License-Identifier: Apache-2.0

package transport

import "github.com/tbnet2/tbnet2/wire"

// setPosition notes that no packet of the channel before seq will still begin
// on the rail. Positions only advance.
func (r *recvRail) setPosition(ch uint8, seq Seq) {
	if r.known>>ch&1 == 0 || r.position[ch].Before(seq) {
		r.position[ch] = seq
		r.known |= 1 << ch
	}
}

// positions takes a POSITION frame.
func (r *Receiver) positions(now Time, rail *recvRail, body []byte, in *Inbox) bool {
	for len(body) > 0 {
		m, rest, err := wire.ParseMark(body)
		if err != nil || m.Channel >= wire.Channels {
			return r.drop(DropField)
		}
		body = rest
		if Seq(m.Packet).Sub(r.channels[m.Channel].next) > int32(r.cfg.LocalSlots) {
			return r.drop(DropWindow) // cannot have begun these
		}
		rail.setPosition(m.Channel, Seq(m.Packet))
		r.channels[m.Channel].active = true
		r.prove(now, m.Channel, in)
	}
	return true
}

// railSet takes a RAILSET frame.
func (r *Receiver) railSet(now Time, body []byte, in *Inbox) bool {
	set, err := wire.ParseRailSet(body)
	if err != nil {
		return r.drop(DropField)
	}
	r.ackNow = true
	if Seq(set.Generation).Sub(Seq(r.generation)) <= 0 {
		return true
	}
	r.generation, r.peerSet = set.Generation, RailSet(set.Rails)
	for id := range r.railIDs.All() {
		if rail := r.rails[id]; !r.peerSet.Has(rail.peerID) {
			rail.known = 0 // told anew, lest it be half the numbers old
		}
	}
	for ch := range r.channels {
		r.prove(now, uint8(ch), in)
	}
	return true
}

// prove passes the packets of a channel that RFC 1990's rule proves lost:
// every rail of the set is past them.
func (r *Receiver) prove(now Time, ch uint8, in *Inbox) {
	c := &r.channels[ch]
	if r.cfg.Class != Ordered || r.cfg.Retransmit || !c.active || r.peerSet == 0 {
		return
	}
	least, ok := r.leastPosition(ch)
	// None was taken further ahead: one that seems so is half the numbers old.
	if ahead := least.Sub(c.next); !ok || ahead <= 0 || ahead > int32(r.cfg.LocalSlots) {
		return
	}
	for c.next.Before(least) {
		before := c.next
		r.drain(now, c, ch, in)
		if c.next != before {
			continue
		}
		r.stats.ProvenLost++
		r.passNext(c)
	}
	r.drain(now, c, ch, in)
}

// passNext gives up the packet at c.next.
func (r *Receiver) passNext(c *recvChannel) {
	if c.slots != nil && *c.slot(c.next) != nil {
		r.release(c, c.next)
	}
	c.next++
	c.news = true
	c.holeSince = Never
}

// leastPosition is the packet before which no rail of the peer's set will
// bring anything; false while some rail's position is not known.
func (r *Receiver) leastPosition(ch uint8) (Seq, bool) {
	var least Seq
	found := false
	for id := range r.railIDs.All() {
		rail := r.rails[id]
		if !r.peerSet.Has(rail.peerID) {
			continue
		}
		if rail.known>>ch&1 == 0 {
			return 0, false
		}
		if p := rail.position[ch]; !found || p.Before(least) {
			least, found = p, true
		}
	}
	return least, found
}

// skips takes a SKIP frame.
func (r *Receiver) skips(now Time, body []byte, in *Inbox) bool {
	for len(body) > 0 {
		m, rest, err := wire.ParseMark(body)
		if err != nil || m.Channel >= wire.Channels || r.cfg.Class != Ordered {
			return r.drop(DropField)
		}
		body = rest
		c := &r.channels[m.Channel]
		ahead := Seq(m.Packet).Sub(c.next)
		if ahead > int32(r.cfg.LocalSlots) {
			return r.drop(DropWindow)
		}
		r.ackNow, c.news, c.active = true, true, true
		if ahead <= 0 {
			continue
		}
		c.skip = Seq(m.Packet)
		r.drain(now, c, m.Channel, in)
	}
	return true
}

// expireHoles is the last resort against a hole that nobody closes.
func (r *Receiver) expireHoles(now Time, in *Inbox) {
	deaf := r.heardHere(now) == 0
	for ch := range r.channels {
		c := &r.channels[ch]
		if r.cfg.Class != Ordered || c.parked == 0 || c.holeSince == Never {
			continue
		}
		if deaf {
			c.holeSince = now // the peer cannot close it, nor tell
		}
		if now-c.holeSince < holeTimeout {
			continue
		}
		r.stats.HoleTimeouts++
		r.passNext(c)
		for c.parked > 0 && *c.slot(c.next) == nil {
			r.passNext(c)
		}
		r.drain(now, c, uint8(ch), in)
	}
}
