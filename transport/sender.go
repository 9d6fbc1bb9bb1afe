// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"math/bits"

	"github.com/tbnet2/tbnet2/wire"
)

// Sender is the send half of an Association: packets in, frames out, and what
// the peer says of both. Its methods must not run at the same time.
type Sender struct {
	cfg       Config
	rails     [wire.RailsMax]*sendRail
	railSet   RailSet
	active    []*sendRail // may carry data, by id
	activeSet RailSet
	ranking   ranking
	turn      int // of RoundRobin

	channels    [wire.Channels]sendChannel
	fresh       uint16 // channels with packets to cut that just became so
	old         uint16 // the others with packets to cut
	channelTurn uint8  // which old one is next
	resend      spans
	finished    []*Packet // done with; Done is called when the burst they are in was sent
	queued      int       // bytes not cut yet

	control     control
	newestState uint32 // stamp of the newest state applied
	anyState    bool
	set         announcement

	cutAt    Time   // of the burst being cut, running clock
	cutStamp uint32 // the same on the wire

	stalled     Time // how long this host itself was stopped
	outage      Time // how long no rail could carry data, before outageSince
	outageSince Time // running clock; Never: some rail can
	due         Time // of the next tick
	closed      bool

	stats SendStats
}

func newSender(cfg Config, now Time) *Sender {
	return &Sender{cfg: cfg, outageSince: now, due: now}
}

// Send queues a packet. The packet belongs to the transport until Done.
func (s *Sender) Send(p *Packet) error {
	total := 0
	for _, part := range p.Parts {
		total += len(part)
	}
	switch {
	case s.closed:
		return ErrClosed
	case total == 0 || total > wire.PacketMax || int(p.Channel) >= wire.Channels:
		return ErrPacket
	case p.HasOffload && p.Offload.Check(total) != nil:
		return ErrPacket
	case s.queued > 0 && s.queued+total > s.queueLimit(total):
		s.stats.QueueFull++
		return ErrQueueFull
	}
	p.sending = sending{total: int32(total)}
	c := &s.channels[p.Channel]
	if c.open == nil {
		c.open, c.starts = make([]*Packet, s.cfg.Slots), make([]uint64, s.cfg.Slots)
	}
	if c.head == nil {
		s.wake(int(p.Channel))
	}
	c.push(p)
	s.queued += total
	s.stats.Packets++
	s.stats.Bytes += uint64(total)
	return nil
}

// queueLimit is how many bytes may wait when a packet of n bytes comes: small
// ones (acknowledgements, ARP) have a reserve, so that they are not lost behind
// bulk data.
func (s *Sender) queueLimit(n int) int {
	if n <= smallPacket {
		return s.cfg.QueueBytes + smallReserve
	}
	return s.cfg.QueueBytes
}

// Room reports whether Send would take a packet of n bytes.
func (s *Sender) Room(n int) bool { return s.queued == 0 || s.queued+n <= s.queueLimit(n) }

// wake puts a channel that has work again ahead of the busy ones, once.
func (s *Sender) wake(ch int) {
	bit := uint16(1) << ch
	if (s.fresh|s.old)&bit == 0 {
		s.channels[ch].deficit = quantum
		s.fresh |= bit
	}
}

// Transmit cuts what may be sent now into b. The caller sends b's frames, or
// gives back with Unsent what a device refused, before any other call; it
// calls again while more is true.
func (s *Sender) Transmit(now Time, b *Burst) (more bool) {
	s.noticeStall(now)
	s.settle()
	s.cutAt, s.cutStamp = s.running(now), now.Stamp()
	for _, r := range s.active {
		r.look(s.cutAt)
	}
	if !s.sendControl(now, b) {
		s.sealAll(b)
		return true
	}
	s.ranking.begin(s.active)
	more = s.sendResends(now, b)
	if !more {
		more = s.sendQueued(now, b)
	}
	if s.queued == 0 {
		s.noteStarved()
	}
	if b.count > 0 || s.queued > 0 {
		s.due = min(s.due, now+busyTick)
	}
	s.askForAcks(b)
	s.sealAll(b)
	return more
}

// noteStarved remembers for every rail that could carry more that there was
// nothing more to send.
func (s *Sender) noteStarved() {
	for _, r := range s.active {
		if r.hasWindow(r.mtu) {
			r.estimate.round.starved = true
		}
	}
}

// settle tells the owners of packets that are done with. The burst that may
// have named them was sent before this call.
func (s *Sender) settle() {
	for i, p := range s.finished {
		s.finished[i] = nil
		s.stats.Outcomes[p.outcome]++
		if p.Done != nil {
			p.Done(p, p.outcome)
		}
	}
	s.finished = s.finished[:0]
}

// sendResends cuts lost ranges again, before anything new. It reports whether
// the burst is full.
func (s *Sender) sendResends(now Time, b *Burst) (more bool) {
	for s.resend.count > 0 {
		w := s.resend.front()
		if w.packet.givenUp {
			s.dropSpan(w)
			continue
		}
		n := need{left: int(w.n), head: headLen(w.packet, w.off), channel: w.packet.Channel, resent: true}
		r := s.pickResend(w, n)
		if r == nil {
			s.stats.RailBlocked++
			return false
		}
		if !b.room(n.head) {
			return true
		}
		s.resendOne(now, b, r, *w, n)
	}
	return false
}

// pickResend chooses the rail for a span. Without retransmission a span is one
// that a device refused, and must keep its place on its rail.
func (s *Sender) pickResend(w *span, n need) *sendRail {
	if s.cfg.Retransmit || !s.activeSet.Has(w.rail) {
		return s.pick(n)
	}
	s.ranking.valid = false // it is loaded without its pick
	if r := s.rails[w.rail]; s.admits(r, n, n.size(r)) {
		return r
	}
	return nil
}

// resendOne sends the beginning of the front span w on r.
func (s *Sender) resendOne(now Time, b *Burst, r *sendRail, w span, n need) {
	cut := cutLen(n, r, w.off, w.packet.total)
	if cut < w.n {
		w.packet.refs++ // one for the ledger, one for the rest of the span
	}
	s.resend.take(cut)
	if home := s.rails[w.rail]; home != nil && cut == w.n && !s.cfg.Retransmit {
		home.held--
	}
	flags := entryResent
	if !s.cfg.Retransmit && r.ID == w.rail {
		flags = 0 // its first sending, in order on its rail
	}
	s.emit(now, b, r, w.packet, w.off, cut, flags)
	s.stats.ResentFrames++
	s.stats.ResentBytes += uint64(cut)
}

// dropSpan discards the front span, of a packet that was given up.
func (s *Sender) dropSpan(w *span) {
	p := w.packet
	s.resend.take(w.n)
	s.unref(p)
}

// sendQueued cuts packets of the channels in turn. It reports whether the
// burst is full.
func (s *Sender) sendQueued(now Time, b *Burst) (more bool) {
	stuck := uint16(0) // channels without window
	for {
		ch := s.nextChannel(stuck)
		if ch < 0 {
			return false
		}
		c := &s.channels[ch]
		p := c.head
		if p.cut == 0 && !c.mayBegin(p) {
			s.stats.ChannelWait++
			c.waiting = true
			stuck |= 1 << ch
			continue
		}
		n := need{left: int(p.total - p.cut), head: headLen(p, p.cut), channel: p.Channel}
		r := s.pick(n)
		if r == nil {
			if s.cfg.Policy == FlowHash {
				stuck |= 1 << ch
				continue
			}
			s.stats.RailBlocked++
			return false
		}
		if !b.room(n.head) {
			return true
		}
		s.cutNext(now, b, ch, p, r, n)
	}
}

// cutNext sends the next fragment of the head packet of a channel.
func (s *Sender) cutNext(now Time, b *Burst, ch int, p *Packet, r *sendRail, n need) {
	c := &s.channels[ch]
	if p.cut == 0 {
		c.begin(s.usable(now), p)
	}
	cut := cutLen(n, r, p.cut, p.total)
	p.refs++
	off := p.cut
	p.cut += cut
	s.queued -= int(cut)
	s.emit(now, b, r, p, off, cut, 0)
	c.deficit -= int(cut)
	if p.cut == p.total {
		c.pop()
	}
	s.requeue(ch)
}

// requeue keeps the turn order after a channel has sent a fragment: a channel
// that has used its quantum goes behind the others.
func (s *Sender) requeue(ch int) {
	c, bit := &s.channels[ch], uint16(1)<<ch
	switch {
	case c.head == nil && s.fresh&bit != 0:
		s.fresh &^= bit
		s.old |= bit // until its turn, so that it cannot jump the queue at once
	case c.head == nil:
		s.old &^= bit
	case c.deficit <= 0:
		c.deficit += quantum
		s.fresh &^= bit
		s.old |= bit
		s.turnTo(ch + 1)
	}
}

func (s *Sender) turnTo(ch int) { s.channelTurn = uint8(ch % wire.Channels) }

// nextChannel gives the channel to send from: fresh ones first, then the old
// in turn; -1 when there is none but the stuck.
func (s *Sender) nextChannel(stuck uint16) int {
	if ready := s.fresh &^ stuck; ready != 0 {
		return bits.TrailingZeros16(ready)
	}
	for {
		ready := s.old &^ stuck
		if ready == 0 {
			return -1
		}
		turn := int(s.channelTurn)
		ch := (bits.TrailingZeros16(bits.RotateLeft16(ready, -turn)) + turn) % wire.Channels
		c := &s.channels[ch]
		switch {
		case c.head == nil:
			s.old &^= 1 << ch
		case c.deficit > 0:
			return ch
		default:
			c.deficit += quantum
			s.turnTo(ch + 1)
		}
	}
}

// headLen is the length of the head of a fragment at off.
func headLen(p *Packet, off int32) int {
	if off == 0 && p.HasOffload {
		return wire.HeaderLen + wire.DataLen + wire.OffloadLen
	}
	return wire.HeaderLen + wire.DataLen
}

// cutLen is how many bytes go into one frame: all that is left, or as many
// whole units as fit.
func cutLen(n need, r *sendRail, off, total int32) int32 {
	room := r.payload(n.head)
	if n.left <= room {
		return int32(n.left)
	}
	return int32(room &^ (wire.Unit - 1))
}

// emit adds one DATA frame to the burst and the ledger.
func (s *Sender) emit(now Time, b *Burst, r *sendRail, p *Packet, off, n int32, flags entryFlag) {
	headSize := headLen(p, off)
	head := b.head(headSize)
	h := wire.Header{Type: wire.TypeData, Length: uint16(headSize - wire.HeaderLen + int(n)),
		Index: s.cfg.PeerIndex, RailSeq: uint32(r.ledger.next)}
	if flags&entryResent != 0 {
		h.Flags |= wire.FlagResent
	}
	d := wire.Data{Packet: uint32(p.number), Offset: uint16(off / wire.Unit), Channel: p.Channel,
		Total: uint32(p.total), Stamp: s.cutStamp}
	if headSize > wire.HeaderLen+wire.DataLen {
		h.Flags |= wire.FlagOffload
		p.Offload.Put(head[wire.HeaderLen+wire.DataLen:])
	}
	size := headSize + int(n)
	if r.wantsAck(size) {
		h.Flags |= wire.FlagAck
		flags |= entryAckNow
		r.unflagged = 0
	}
	h.Put(head)
	d.Put(head[wire.HeaderLen:])
	e := entry{packet: p, off: off, n: n, size: int32(size), flags: flags, sentAt: s.cutAt}
	if !s.cfg.Retransmit && flags&entryResent == 0 {
		s.noticePosition(now, r, p)
	}
	r.ledger.push(e)
	r.load(s.cutAt, size)
	r.wrote += uint64(size)
	r.stats.TxFrames++
	r.stats.TxBytes += uint64(size)
	s.stats.Frames++
	b.add(r.ID, Frame{Head: head, Packet: p, Off: int(off), Len: int(n)})
}

// askForAcks flags the last DATA frame of every rail whose window has no room
// for another, so that the answer comes as soon as it can.
func (s *Sender) askForAcks(b *Burst) {
	for id := range b.rails.All() {
		r := s.rails[id]
		frames := b.frames[id]
		if r == nil || r.ledger.len() == 0 || r.hasWindow(r.mtu) && r.hasCredit(r.mtu) {
			continue
		}
		last := &frames[len(frames)-1]
		if last.Packet == nil || last.Packet == padding {
			continue
		}
		last.Head[1] |= wire.FlagAck
		r.ledger.at(r.ledger.next - 1).flags |= entryAckNow
		r.unflagged = 0
	}
}

func (s *Sender) sealAll(b *Burst) {
	if !s.cfg.SendCRC {
		return
	}
	for id := range b.rails.All() {
		if r := s.rails[id]; r == nil || !r.NoCRC {
			b.seal(id)
		}
	}
}

// Unsent takes back the last n frames of a rail's part of the burst, which the
// device refused. The rail carries nothing new until Writable.
func (s *Sender) Unsent(id RailID, b *Burst, n int) {
	r := s.rails[id]
	frames := b.frames[id]
	for i := range n {
		f := &frames[len(frames)-1-i]
		s.stats.Refused++
		if wire.Type(f.Head[0]&0x0f).Ledgered() && r != nil {
			s.takeBack(r, r.ledger.popNewest())
		} else {
			s.control.refused(f)
		}
	}
	b.frames[id] = frames[:len(frames)-n]
	if r != nil {
		r.busy = true
	}
}

// takeBack puts the content of a frame that never left into the queue again.
func (s *Sender) takeBack(r *sendRail, e entry) {
	r.stats.TxFrames--
	r.stats.TxBytes -= uint64(e.size)
	r.wrote -= min(r.wrote, uint64(e.size))
	r.idleAt -= r.estimate.timeFor(int(e.size))
	if e.marks != 0 {
		s.forgetPosition(r, e.marks)
		return
	}
	s.stats.Frames--
	s.resend.pushFront(span{e.packet, e.off, e.n, r.ID})
	if !s.cfg.Retransmit {
		r.position[e.packet.Channel] = e.packet.number
		r.held++
	}
}

// Writable says that a rail's device takes frames again.
func (s *Sender) Writable(id RailID) {
	if r := s.rails[id]; r != nil {
		r.busy = false
	}
}

// unref lets go of a packet. Without references and wholly cut it is done
// with.
func (s *Sender) unref(p *Packet) {
	p.refs--
	if p.refs > 0 || p.cut < p.total {
		return
	}
	outcome := Sent
	switch {
	case p.givenUp:
		outcome = GivenUp
	case s.closed:
		outcome = Aborted
	case s.cfg.Retransmit:
		outcome = Acknowledged
	}
	s.finish(p, outcome)
}

func (s *Sender) finish(p *Packet, outcome Outcome) {
	p.outcome = outcome
	s.channels[p.Channel].close(p)
	s.finished = append(s.finished, p)
}
