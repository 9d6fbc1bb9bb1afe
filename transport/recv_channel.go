// SPDX-License-Identifier: Apache-2.0

package transport

import "github.com/tbnet2/tbnet2/wire"

// recvChannel is one sequence space, seen by the receiver.
type recvChannel struct {
	next      Seq // every packet before it is done with
	slots     []*assembly
	held      int  // bytes of the packets in slots
	parked    int  // packets in slots
	backlog   int  // bytes delivered and not consumed
	holeSince Time // Never: nothing waits behind a hole
	skip      Seq  // packets before it will not come
	active    bool
	news      bool
}

func (c *recvChannel) slot(s Seq) **assembly { return &c.slots[int(s)&(len(c.slots)-1)] }

// data takes the fragment of a DATA frame (docs/protocol.md 3).
func (r *Receiver) data(now Time, rail *recvRail, h *wire.Header, body []byte, in *Inbox) bool {
	var d wire.Data
	var o wire.Offload
	payload, err := wire.ParseData(h.Flags, body, &d, &o)
	if err != nil {
		return r.drop(dropOf(err))
	}
	r.stats.DataFrames++
	if !rail.sampled { // once a batch is enough: its frames left together
		rail.sampled = true
		rail.transit.sample(now, d.Stamp)
	}
	if reason, ok := checkFragment(&d, &o, h.Flags, len(payload)); !ok {
		return r.drop(reason)
	}
	c := &r.channels[d.Channel]
	seq := Seq(d.Packet)
	if int(seq.Sub(c.next)) >= r.cfg.LocalSlots {
		return r.drop(DropWindow)
	}
	if h.Flags&wire.FlagResent == 0 {
		rail.setPosition(d.Channel, seq)
	}
	if seq.Before(c.next) {
		return r.drop(DropLate)
	}
	f := fragment{seq: seq, off: int32(d.Offset) * wire.Unit, total: int32(d.Total), payload: payload,
		offload: o, hasOffload: h.Flags&wire.FlagOffload != 0}
	c.active = true
	if r.cfg.Class == Reliable {
		return r.place(c, d.Channel, &f, in)
	}
	taken := r.order(now, c, d.Channel, &f, in)
	if !r.cfg.Retransmit {
		r.prove(now, d.Channel, in)
	}
	return taken
}

// fragment is a checked range of a packet.
type fragment struct {
	seq        Seq
	off, total int32
	payload    []byte
	offload    wire.Offload
	hasOffload bool
}

// isWhole reports whether the fragment is its packet.
func (f *fragment) isWhole() bool { return f.off == 0 && int(f.total) == len(f.payload) }

// checkFragment reports whether a fragment is well formed.
func checkFragment(d *wire.Data, o *wire.Offload, flags uint8, n int) (Drop, bool) {
	end := int(d.Offset)*wire.Unit + n
	total := int(d.Total)
	switch {
	case int(d.Channel) >= wire.Channels, total == 0, total > wire.PacketMax, n == 0:
		return DropField, false
	case end > total, end < total && n%wire.Unit != 0:
		return DropField, false
	case flags&wire.FlagOffload != 0 && (d.Offset != 0 || o.Check(total) != nil):
		return DropOffload, false
	}
	return 0, true
}

// order takes a fragment in the ordered class: the next packet goes straight
// to the consumer, others are parked.
func (r *Receiver) order(now Time, c *recvChannel, ch uint8, f *fragment, in *Inbox) bool {
	inTurn := f.seq == c.next || r.cfg.Unordered || sabotageResequence
	if f.isWhole() && inTurn && (c.slots == nil || *c.slot(f.seq) == nil) && (c.backlog == 0 || r.fits(c, f.total)) {
		ahead := f.seq != c.next
		if ahead && !r.markDone(c, f) {
			return false
		}
		r.deliver(c, in, Delivery{Channel: ch, Packet: f.seq, Total: int(f.total), Data: f.payload,
			Offload: f.offload, HasOffload: f.hasOffload})
		if !ahead {
			c.next++
			c.news = true
			r.drain(now, c, ch, in)
		}
		return true
	}
	a := r.park(c, f)
	if a == nil {
		return false
	}
	if !a.fill(f) {
		return r.drop(DropDuplicate)
	}
	if f.hasOffload {
		a.offload, a.hasOffload = f.offload, true
	}
	if f.seq != c.next && a.whole() {
		r.stats.OutOfOrder++
	}
	r.drain(now, c, ch, in)
	return true
}

// markDone remembers a packet that is delivered ahead of its turn; false if
// there is no room for that, and the fragment was dropped.
func (r *Receiver) markDone(c *recvChannel, f *fragment) bool {
	a := r.park(c, f)
	if a == nil {
		return false
	}
	a.got = a.total
	r.putBuffer(a)
	return true
}

// park gives the assembly of f's packet, new if need be; nil if the fragment
// was dropped.
func (r *Receiver) park(c *recvChannel, f *fragment) *assembly {
	if c.slots == nil {
		c.slots = make([]*assembly, r.cfg.LocalSlots)
	}
	slot := c.slot(f.seq)
	if a := *slot; a != nil {
		switch {
		case a.total != f.total:
			r.drop(DropContradiction)
			return nil
		case a.whole():
			r.drop(DropDuplicate)
			return nil
		}
		return a
	}
	switch {
	case !r.fits(c, f.total):
		r.drop(DropWindow)
		return nil
	case r.cfg.Class == Ordered && f.seq != c.next && !r.cfg.Unordered && r.cfg.Memory.Room() < int(f.total):
		r.starved = true
		r.drop(DropMemory)
		return nil
	}
	a := r.newAssembly(f.total)
	*slot = a
	c.held += int(f.total)
	c.parked++
	r.stats.ParkedPackets++
	r.stats.ParkedBytes += uint64(f.total)
	r.stats.ParkedBytesMost = max(r.stats.ParkedBytesMost, r.stats.ParkedBytes)
	return a
}

// fits reports whether a packet of total bytes is within the channel's window.
func (r *Receiver) fits(c *recvChannel, total int32) bool {
	return c.held+c.backlog+int(total) <= r.cfg.Window
}

// drain delivers what is now in turn, and passes what was skipped.
func (r *Receiver) drain(now Time, c *recvChannel, ch uint8, in *Inbox) {
	c.skip = maxSeq(c.skip, c.next) // level, lest it seem ahead half the numbers later
	for c.parked > 0 || c.next.Before(c.skip) {
		var a *assembly
		if c.slots != nil {
			a = *c.slot(c.next)
		}
		switch {
		case a != nil && a.whole():
			r.deliverParked(c, ch, a, in)
		case c.next.Before(c.skip):
			r.stats.Skipped++
			if a != nil {
				r.release(c, c.next)
			}
		default:
			r.noteHole(now, c)
			return
		}
		c.next++
		c.news = true
		c.holeSince = Never
	}
	c.holeSince = Never
}

// noteHole starts the clock of the last resort.
func (r *Receiver) noteHole(now Time, c *recvChannel) {
	if c.holeSince == Never {
		c.holeSince = now
		r.due = min(r.due, now+holeTimeout)
	}
}

// deliverParked hands over the packet at c.next and frees its slot.
func (r *Receiver) deliverParked(c *recvChannel, ch uint8, a *assembly, in *Inbox) {
	if a.buf != nil { // nil: it was delivered out of turn
		d := Delivery{Channel: ch, Packet: c.next, Total: int(a.total), Data: a.buf.Data[:a.total], Buf: a.buf}
		d.Offload, d.HasOffload = a.offload, a.hasOffload
		a.buf = nil
		r.deliver(c, in, d)
	}
	r.release(c, c.next)
}

// deliver hands content to the consumer.
func (r *Receiver) deliver(c *recvChannel, in *Inbox, d Delivery) {
	if r.cfg.ManualConsume {
		c.backlog += len(d.Data)
	}
	r.stats.PacketBytes += uint64(len(d.Data))
	if d.Offset+len(d.Data) == d.Total || r.cfg.Class == Ordered {
		r.stats.Packets++
	}
	in.Deliveries = append(in.Deliveries, d)
}

// release empties the slot of a packet.
func (r *Receiver) release(c *recvChannel, seq Seq) {
	slot := c.slot(seq)
	a := *slot
	*slot = nil
	c.held -= int(a.total)
	c.parked--
	r.stats.ParkedPackets--
	r.stats.ParkedBytes -= uint64(a.total)
	r.putBuffer(a)
	a.reset()
	if len(r.spare) < sparesMost {
		r.spare = append(r.spare, a)
	}
}

// newAssembly gives an empty assembly, with memory in the ordered class.
func (r *Receiver) newAssembly(total int32) *assembly {
	var a *assembly
	if n := len(r.spare); n > 0 {
		a, r.spare = r.spare[n-1], r.spare[:n-1]
	} else {
		a = new(assembly)
	}
	a.total = total
	if r.cfg.Class == Ordered {
		a.buf = r.cfg.Memory.Get(int(total))
	}
	return a
}

func (r *Receiver) putBuffer(a *assembly) {
	if a.buf != nil {
		r.cfg.Memory.Put(a.buf)
		a.buf = nil
	}
}

// place takes a fragment in the reliable class: what is new in it goes to the
// consumer at once.
func (r *Receiver) place(c *recvChannel, ch uint8, f *fragment, in *Inbox) bool {
	if f.isWhole() && f.seq == c.next && c.parked == 0 {
		r.deliver(c, in, Delivery{Channel: ch, Packet: f.seq, Total: int(f.total), Data: f.payload,
			Offload: f.offload, HasOffload: f.hasOffload})
		c.next++
		c.news = true
		return true
	}
	a := r.park(c, f)
	if a == nil {
		return false
	}
	fresh := false
	a.runs(f.off, int32(len(f.payload)), func(from, to int32) {
		fresh = true
		r.deliver(c, in, Delivery{Channel: ch, Packet: f.seq, Offset: int(from), Total: int(f.total),
			Data: f.payload[from-f.off : to-f.off], Offload: f.offload, HasOffload: f.hasOffload})
	})
	if !fresh {
		return r.drop(DropDuplicate)
	}
	for c.parked > 0 {
		a := *c.slot(c.next)
		if a == nil || !a.whole() {
			break
		}
		r.release(c, c.next)
		c.next++
		c.news = true
	}
	return true
}
