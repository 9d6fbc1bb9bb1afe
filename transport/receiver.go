// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"encoding/binary"
	"errors"

	"github.com/tbnet2/tbnet2/wire"
)

// Receiver is the receive half of an Association: frames in, deliveries and
// acknowledgements out. Its methods must not run at the same time.
type Receiver struct {
	cfg      Config
	rails    [wire.RailsMax]*recvRail
	railIDs  RailSet
	channels [wire.Channels]recvChannel
	spare    []*assembly // at most sparesMost
	starved  bool        // the frame in hand was dropped for want of memory

	generation uint32  // newest RAILSET
	peerSet    RailSet // its rails, by the peer's ids

	ackNow    bool // something must be told at once
	ackSince  Time // Never: nothing waits to be told
	ackFrames int  // ledgered frames not told of
	pinged    bool // a PING wants the whole state
	railTurn  int  // which rail block comes first

	stalled Time // how long this host itself was stopped
	due     Time // of the next tick

	stats ReceiveStats
}

func newReceiver(cfg Config, now Time) *Receiver {
	r := &Receiver{cfg: cfg, ackSince: Never, due: now}
	for i := range r.channels {
		r.channels[i].holeSince = Never
	}
	return r
}

// drop counts a frame that is not taken.
func (r *Receiver) drop(why Drop) (taken bool) {
	r.stats.Drops[why]++
	return false
}

// dropOf gives the reason for an error of package wire.
func dropOf(err error) Drop {
	switch {
	case errors.Is(err, wire.ErrVersion):
		return DropVersion
	case errors.Is(err, wire.ErrType), errors.Is(err, wire.ErrReserved):
		return DropType
	}
	return DropShort
}

// receive takes one frame from a rail.
func (r *Receiver) receive(now Time, id RailID, frame []byte, in *Inbox) {
	r.noticeStall(now)
	r.stats.Frames++
	r.stats.Bytes += uint64(len(frame))
	var h wire.Header
	body, err := wire.ParseHeader(frame, &h)
	rail := r.rails[id]
	switch {
	case err != nil:
		r.drop(dropOf(err))
		return
	case rail == nil || h.Index != r.cfg.LocalIndex || h.Type < wire.TypePing:
		r.drop(DropField)
		return
	case !r.intact(rail, &h, frame, body):
		return
	}
	lost, late := rail.lost, rail.reordered
	gap, ok := rail.arrive(Seq(h.RailSeq), h.Type.Ledgered())
	r.stats.LostFrames += rail.lost - lost
	r.stats.RailReordered += rail.reordered - late
	if !ok {
		r.drop(DropRailSeq)
		return
	}
	rail.frames++
	rail.bytes += uint64(wire.HeaderLen + len(body))
	r.hear(now, rail)
	r.noteAck(now, rail, &h, gap)
	if r.dispatch(now, rail, &h, body, in) {
		r.stats.Taken++
	}
	if r.starved {
		r.starved, r.ackNow = false, true
		rail.refuse(Seq(h.RailSeq))
	}
}

// sparesMost bounds the assemblies that are kept for reuse, lest a peer that
// opened all packets once has made us keep as many.
const sparesMost = 1024

// dispatch takes the content of a frame; false if it was dropped.
func (r *Receiver) dispatch(now Time, rail *recvRail, h *wire.Header, body []byte, in *Inbox) bool {
	switch h.Type {
	case wire.TypeData:
		return r.data(now, rail, h, body, in)
	case wire.TypePosition:
		return r.positions(now, rail, body, in)
	case wire.TypeSkip:
		return r.skips(now, body, in)
	case wire.TypeRailSet:
		return r.railSet(now, body, in)
	}
	return r.state(now, rail, h, body, in)
}

// hear notes that the peer is alive on a rail; if that is news, a tick tells
// the send half.
func (r *Receiver) hear(now Time, rail *recvRail) {
	run := now - r.stalled
	if !rail.heard || run-rail.heardAt >= downAfter {
		r.due = min(r.due, now)
	}
	rail.heardAt, rail.heard = run, true
}

// intact checks a frame's CRC as far as one is asked for.
func (r *Receiver) intact(rail *recvRail, h *wire.Header, frame, body []byte) bool {
	if h.Flags&wire.FlagCRC == 0 {
		if r.cfg.RequireCRC && !rail.noCRC {
			r.drop(DropNoCRC)
			return false
		}
		return true
	}
	if wire.Sum(frame[:wire.HeaderLen], body) != h.CRC {
		r.drop(DropCRC)
		return false
	}
	return true
}

// noteAck follows what is owed to the sender of a frame.
func (r *Receiver) noteAck(now Time, rail *recvRail, h *wire.Header, gap bool) {
	if gap {
		rail.news, r.ackNow = true, true
		r.stats.Gaps++
	}
	if !h.Type.Ledgered() {
		return
	}
	rail.news = true
	r.ackFrames++
	if r.ackSince == Never {
		r.ackSince = now
		r.due = min(r.due, now+ackDelay)
	}
	if h.Flags&wire.FlagAck != 0 || r.ackFrames >= ackFrames {
		r.ackNow = true
	}
}

// state passes a PING, PONG or ACK on to the send half.
func (r *Receiver) state(now Time, rail *recvRail, h *wire.Header, body []byte, in *Inbox) bool {
	if len(body) < wire.StateLen {
		return r.drop(DropShort)
	}
	stamp := binary.LittleEndian.Uint32(body)
	rail.transit.sample(now, stamp)
	in.states = append(in.states, stateFrame{rail.id, h.Type, body})
	if h.Type == wire.TypePing {
		in.pings = append(in.pings, ping{rail.id, stamp})
		r.pinged = true
	}
	return true
}

// owe encodes what the peer must be told into in, if it is due.
func (r *Receiver) owe(now Time, in *Inbox) {
	for id := range r.railIDs.All() {
		r.rails[id].sampled = false
	}
	overdue := r.ackSince != Never && now-r.ackSince >= ackDelay
	if !r.ackNow && !r.pinged && !overdue {
		return
	}
	in.owed.ack = r.ackNow || overdue
	r.encode(now, in, r.pinged)
}

// encode writes the state: all rails and channels, or only those with news.
func (r *Receiver) encode(now Time, in *Inbox, all bool) {
	st := wire.State{Heard: uint64(r.heard(now)), Generation: r.generation}
	body := append(in.owed.body[:0], make([]byte, wire.StateLen)...)
	body = r.encodeRails(body, &st, all)
	body = r.encodeChannels(body, &st, all)
	st.Put(body)
	in.owed.body, in.owed.heard = body, RailSet(st.Heard)
	r.ackNow, r.pinged, r.ackSince, r.ackFrames = false, false, Never, 0
	r.stats.AcksSent++
}

// encodeRails adds rail blocks while they fit beside all channel blocks; what
// does not comes first the next time.
func (r *Receiver) encodeRails(body []byte, st *wire.State, all bool) []byte {
	const most = stateBytes - wire.Channels*wire.ChannelAckLen
	base := r.baseTransit()
	var a wire.RailAck
	n := r.railIDs.Len()
	for i := range n {
		rail := r.rails[r.railIDs.nth((r.railTurn+i)%n)]
		if !all && !rail.news {
			continue
		}
		if len(body)+wire.RailAckLen+rail.gapCount*wire.GapLen > most {
			r.railTurn = (r.railTurn + i) % n
			return body
		}
		rail.ack(&a)
		a.Delay = rail.excess(base)
		body = wire.AppendRailAck(body, &a)
		st.Rails++
	}
	return body
}

func (r *Receiver) encodeChannels(body []byte, st *wire.State, all bool) []byte {
	room := r.room()
	for ch := range r.channels {
		c := &r.channels[ch]
		if !c.news && !all {
			continue
		}
		c.news = false
		body = wire.AppendChannelAck(body, wire.ChannelAck{Channel: uint8(ch), Next: uint32(c.next),
			Window: uint32(max(0, min(r.cfg.Window-c.backlog, c.held+room)))})
		st.Channels++
	}
	return body
}

// room is what every channel may be sent beyond what it holds, bytes: an equal
// part of the memory that is left, so that the peer slows down before frames
// have to be dropped. One packet always may.
func (r *Receiver) room() int {
	if r.cfg.Class != Ordered {
		return r.cfg.Window
	}
	left := r.cfg.Memory.Room()
	if left >= wire.Channels*r.cfg.Window {
		return r.cfg.Window
	}
	active := 0
	for ch := range r.channels {
		if r.channels[ch].active {
			active++
		}
	}
	return max(wire.PacketMax, left/max(1, active))
}

// baseTransit is the least one-way time of all rails.
func (r *Receiver) baseTransit() int32 {
	var least int32
	found := false
	for id := range r.railIDs.All() {
		if t, ok := r.rails[id].transit.value(); ok && (!found || t-least < 0) {
			least, found = t, true
		}
	}
	return least
}

// excess is the rail's one-way time above base, in ns.
func (r *recvRail) excess(base int32) uint32 {
	t, ok := r.transit.value()
	if !ok {
		return 0
	}
	return uint32(min(int64(t-base)<<10, 1<<32-1))
}

// heard is the set of rails on which the peer was heard lately.
func (r *Receiver) heard(now Time) RailSet {
	set := RailSet(0)
	for id := range r.railIDs.All() {
		if rail := r.rails[id]; rail.heard && now-r.stalled-rail.heardAt < downAfter {
			set = set.With(rail.peerID)
		}
	}
	return set
}

// heardHere is the same by our own ids.
func (r *Receiver) heardHere(now Time) RailSet {
	set := RailSet(0)
	for id := range r.railIDs.All() {
		if rail := r.rails[id]; rail.heard && now-r.stalled-rail.heardAt < downAfter {
			set = set.With(id)
		}
	}
	return set
}

// noticeStall adds the time that this host itself was stopped to all
// deadlines. That a tick is late shows it, to whatever is called first.
func (r *Receiver) noticeStall(now Time) {
	late := now - r.due
	if late <= ownStall {
		return
	}
	r.stalled += late
	r.due = now
	for ch := range r.channels {
		if c := &r.channels[ch]; c.holeSince != Never {
			c.holeSince += late
		}
	}
}

// tick does what time asks of the receive half, and always encodes the state
// when the send half is about to send PINGs.
func (r *Receiver) tick(now Time, in *Inbox) {
	r.noticeStall(now)
	r.expireHoles(now, in)
	in.owed.ack = in.owed.ack || r.ackNow || r.ackSince != Never
	r.encode(now, in, true)
	r.due = r.nextTick(now)
}

// nextTick is when time will ask for something again: a PING, a rail gone
// silent, a hole to be given up.
func (r *Receiver) nextTick(now Time) Time {
	next := now + pingInterval
	for id := range r.railIDs.All() {
		if rail := r.rails[id]; rail.heard {
			if silent := rail.heardAt + downAfter + r.stalled; silent > now {
				next = min(next, silent)
			}
		}
	}
	for ch := range r.channels {
		if c := &r.channels[ch]; c.holeSince != Never {
			next = min(next, max(now+busyTick, c.holeSince+holeTimeout))
		}
	}
	return next
}

// consumed returns window of a channel.
func (r *Receiver) consumed(ch uint8, n int) {
	c := &r.channels[ch]
	c.backlog -= min(n, c.backlog)
	c.news, r.ackNow = true, true
}

// close returns all memory.
func (r *Receiver) close() {
	for ch := range r.channels {
		c := &r.channels[ch]
		for seq := c.next; c.parked > 0; seq++ {
			if *c.slot(seq) != nil {
				r.release(c, seq)
			}
		}
	}
}
