// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"encoding/binary"

	"github.com/tbnet2/tbnet2/wire"
)

// zeros pad PINGs.
var zeros [1 << 16]byte

// padding stands as the packet of a padded PING.
var padding = &Packet{Parts: [][]byte{zeros[:]}}

// pongsMost bounds the PINGs that wait for an answer: a peer sends a few per
// rail and tick.
const pongsMost = 256

// control is what waits to be said besides data.
type control struct {
	pongs  []ping
	state  []byte // newest encoded state: body of PING, PONG and ACK
	ackDue bool
	acks   int // sent, for the detour
}

// take picks up what the receive half wants said.
func (c *control) take(in *Inbox) {
	if len(in.owed.body) == 0 {
		return
	}
	c.state = append(c.state[:0], in.owed.body...)
	c.ackDue = c.ackDue || in.owed.ack
	for _, p := range in.pings {
		if len(c.pongs) < pongsMost {
			c.pongs = append(c.pongs, p)
		}
	}
}

// sendControl adds the control frames that are due. It reports false when the
// burst is full.
func (s *Sender) sendControl(now Time, b *Burst) bool {
	return s.sendPongs(now, b) && s.sendPings(now, b) && s.sendAck(now, b) &&
		s.sendRailSet(now, b) && s.sendSkips(now, b) && s.sendPositions(now, b)
}

func (s *Sender) sendPongs(now Time, b *Burst) bool {
	c := &s.control
	for len(c.pongs) > 0 {
		p := c.pongs[len(c.pongs)-1]
		if r := s.rails[p.rail]; r != nil && !r.busy {
			if !s.addState(now, b, r, wire.TypePong, p.stamp, 0) {
				return false
			}
			c.ackDue = false
		}
		c.pongs = c.pongs[:len(c.pongs)-1]
	}
	return true
}

func (s *Sender) sendPings(now Time, b *Burst) bool {
	for id := range s.railSet.All() {
		r := s.rails[id]
		if !r.health.pingDue || r.busy {
			continue
		}
		size := 0
		if r.probe.size != 0 && s.running(now) >= r.probe.due {
			size = r.probe.size
		}
		if !s.addState(now, b, r, wire.TypePing, 0, size) {
			return false
		}
		if size != 0 {
			s.stats.Probes++
			r.probe.sent(s.running(now), now.Stamp())
		}
		r.health.pingDue = false
		r.health.pingAt = s.running(now) + pingInterval
	}
	return true
}

func (s *Sender) sendAck(now Time, b *Burst) bool {
	c := &s.control
	if !c.ackDue {
		return true
	}
	r := s.ackRail()
	if r == nil {
		return true // kept until a rail is there
	}
	if !s.addState(now, b, r, wire.TypeAck, 0, 0) {
		return false
	}
	c.ackDue = false
	c.acks++
	return true
}

// ackRail gives the quickest rail, and every few times another one: if the
// first loses all we send, the peer hears the rest.
func (s *Sender) ackRail() *sendRail {
	var best *sendRail
	for _, r := range s.active {
		if !r.busy && (best == nil || r.expected(stateBytes) < best.expected(stateBytes)) {
			best = r
		}
	}
	if best == nil {
		return s.anyLive()
	}
	if c := &s.control; c.acks%ackDetour == ackDetour-1 {
		other := s.active[c.acks/ackDetour%len(s.active)]
		if !other.busy {
			return other
		}
	}
	return best
}

// anyLive gives a rail on which the peer may hear us though no data may go.
func (s *Sender) anyLive() *sendRail {
	for id := range s.railSet.All() {
		if r := s.rails[id]; r.health.carrier && r.health.enabled && r.health.here && !r.busy {
			return r
		}
	}
	return nil
}

// addState adds a PING, PONG or ACK, padded to size bytes if that is more.
func (s *Sender) addState(now Time, b *Burst, r *sendRail, t wire.Type, echo uint32, size int) bool {
	n := wire.HeaderLen + max(len(s.control.state), wire.StateLen)
	if !b.room(n) {
		return false
	}
	head := b.head(n)
	body := head[wire.HeaderLen:]
	clear(body)
	copy(body, s.control.state)
	binary.LittleEndian.PutUint32(body, now.Stamp())
	binary.LittleEndian.PutUint32(body[4:], echo)
	f := Frame{Head: head}
	if size > n {
		f.Packet, f.Len = padding, size-n
	}
	s.putControl(head, t, r, f.Size())
	b.add(r.ID, f)
	return true
}

// putControl writes the header of a control frame of size bytes.
func (s *Sender) putControl(head []byte, t wire.Type, r *sendRail, size int) {
	h := wire.Header{Type: t, Length: uint16(size - wire.HeaderLen), Index: s.cfg.PeerIndex, RailSeq: uint32(r.ledger.next)}
	h.Put(head)
	s.stats.ControlFrames++
}

// refused takes note of a control frame that its device did not take.
func (c *control) refused(f *Frame) {
	if wire.Type(f.Head[0]&0x0f) == wire.TypeAck {
		c.ackDue = true
	}
}
