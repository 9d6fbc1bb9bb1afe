// SPDX-License-Identifier: Apache-2.0

package script

import (
	"bytes"
	"fmt"

	"github.com/tbnet2/tbnet2/transport"
	"github.com/tbnet2/tbnet2/wire"
)

// collect writes down all that a step has brought, in a fixed order:
// deliveries, events, frames by burst and rail, outcomes, counters.
func (p *player) collect() {
	for i := range p.in.Deliveries {
		p.lines = append(p.lines, p.deliveryText(&p.in.Deliveries[i]))
	}
	for _, e := range p.in.Events {
		p.lines = append(p.lines, eventText(e))
	}
	p.in.Reset()
	for more := true; more; {
		p.burst.Reset()
		more = p.a.Transmit(p.now, &p.burst)
		for id := range p.burst.Rails().All() {
			p.transmit(id)
		}
	}
	p.lines = append(p.lines, p.done...)
	p.done = nil
	if p.mute {
		p.lines = nil
		return
	}
	p.countAll()
}

// transmit hands a rail's frames to its device.
func (p *player) transmit(id transport.RailID) {
	if n := len(p.burst.Frames(id)); p.room[id] >= 0 && n > p.room[id] {
		p.a.Unsent(id, &p.burst, n-p.room[id])
	}
	for i := range p.burst.Frames(id) {
		f := &p.burst.Frames(id)[i]
		b := append([]byte(nil), f.Head...)
		for _, part := range f.Body(nil) {
			b = append(b, part...)
		}
		if !p.mute {
			p.lines = append(p.lines, fmt.Sprintf("send %d %s", id, frameText(b, p.cfg.PeerIndex)))
		}
		p.sent = append(p.sent, Sent{Rail: id, Data: b})
		if p.room[id] > 0 {
			p.room[id]--
		}
	}
}

func (p *player) deliveryText(d *transport.Delivery) string {
	text := fmt.Sprintf("deliver ch=%d packet=%d", d.Channel, d.Packet)
	if p.cfg.Class == transport.Reliable {
		text += fmt.Sprintf(" offset=%d length=%d total=%d", d.Offset, len(d.Data), d.Total)
	} else {
		text += fmt.Sprintf(" length=%d", len(d.Data))
	}
	if d.HasOffload {
		text += " " + offloadText(&d.Offload)
	}
	if !bytes.Equal(d.Data, scriptContent(d.Channel, uint32(d.Packet), d.Offset, len(d.Data))) {
		text += " (content differs)"
	}
	if d.Buf != nil {
		p.mem.Put(d.Buf)
	}
	return text
}

func eventText(e transport.Event) string {
	switch {
	case e.Kind == transport.EventDead:
		return "event dead"
	case e.Kind == transport.EventMTU:
		return fmt.Sprintf("event rail %d mtu %d", e.Rail, e.MTU)
	case e.Reason == transport.ReasonNone:
		return fmt.Sprintf("event rail %d %v", e.Rail, e.State)
	}
	return fmt.Sprintf("event rail %d %v %v", e.Rail, e.State, e.Reason)
}

// counterNames are what counters are called, in the order of counterValues.
var counterNames = func() []string {
	var names []string
	new(transport.Drops).Each(func(name string, _ uint64) { names = append(names, "drop "+name) })
	for _, name := range []string{"gaps", "rail_lost", "rail_reordered", "out_of_order", "skipped", "proven_lost", "hole_timeout",
		"lost", "moved", "refused", "bad_states", "stale_acks"} {
		names = append(names, "count "+name)
	}
	return names
}()

// counterValues appends what the counters say to values.
func (p *player) counterValues(values []uint64) []uint64 {
	rs, ss := p.a.ReceiveStats(), p.a.SendStats()
	values = append(values, rs.Drops[:]...)
	return append(values, rs.Gaps, rs.LostFrames, rs.RailReordered, rs.OutOfOrder, rs.Skipped, rs.ProvenLost, rs.HoleTimeouts,
		ss.Lost, ss.Suspected, ss.Refused, ss.BadStates, ss.StaleAcks)
}

// countAll writes down the counters that have moved.
func (p *player) countAll() {
	now := p.counterValues(p.spare[:0])
	if p.counts == nil {
		p.counts = make([]uint64, len(now))
	}
	for i, n := range now {
		if n != p.counts[i] {
			p.lines = append(p.lines, fmt.Sprintf("%s %d", counterNames[i], n-p.counts[i]))
		}
	}
	p.counts, p.spare = now, p.counts
}

// finish closes the association: nothing may be held afterwards, and every
// frame counts as taken or dropped.
func (p *player) finish() error {
	rs := p.a.ReceiveStats()
	if drops := rs.Dropped(); rs.Frames != rs.Taken+drops {
		return fmt.Errorf("%d frames received, %d taken, %d dropped", rs.Frames, rs.Taken, drops)
	}
	if most := uint64(wire.Channels * p.cfg.Window); rs.ParkedBytesMost > most {
		return fmt.Errorf("%d bytes parked, at most %d may be", rs.ParkedBytesMost, most)
	}
	p.a.Close()
	if p.mem.out != 0 || p.open != 0 {
		return fmt.Errorf("%d buffers and %d packets are left after Close", p.mem.out, p.open)
	}
	return nil
}
