// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"cmp"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/tbnet2/tbnet2/rail"
	"github.com/tbnet2/tbnet2/transport"
	"github.com/tbnet2/tbnet2/wire"
)

// peer is the association with one speaker, and the rails to it.
type peer struct {
	fabric     *Fabric
	id         transport.PeerID
	host       uuid.UUID
	name       string
	index      uint32 // ours
	offload    bool   // it takes offload descriptors
	retransmit bool   // in force
	clock      clock
	mem        share

	routes atomic.Pointer[[]route] // replaced whole, with both locks held
	heard  atomic.Uint64           // RailSet on which the peer is heard
	full   atomic.Bool             // the port has seen ErrFull

	recvMu sync.Mutex      // guards the association's receive half; taken before sendMu
	ended  bool            // closed, for the receive half
	in     transport.Inbox // of calls that are not a device's; both locks, or recvMu in tick

	sendMu sync.Mutex // guards the send half and what follows
	port   *port      // that its packets go to; written with both locks held
	assoc  *transport.Association
	burst  transport.Burst
	use    transport.RailSet // that SetRails chose
	linked bool              // some rail has been up, and not all have gone down since
	closed bool
}

// route is a rail: a device here and a MAC there.
type route struct {
	device *device
	info   transport.RailInfo
}

func newPeer(f *Fabric, id transport.PeerID, a *transport.AssociationInfo) *peer {
	p := &peer{fabric: f, id: id, host: uuid.UUID(id.Host), name: cmp.Or(a.Name, uuid.UUID(id.Host).String()),
		index: a.LocalIndex, offload: a.Offload, retransmit: a.Retransmit, clock: newClock()}
	p.mem.all = &f.mem
	p.port = f.portFor(p)
	p.assoc = transport.New(transport.Config{
		Class:      f.cfg.class(),
		Retransmit: a.Retransmit,
		SendCRC:    true, RequireCRC: true, // but on rails that need none
		Unordered:  f.cfg.Unordered,
		LocalIndex: a.LocalIndex, PeerIndex: a.PeerIndex,
		Slots: cmp.Or(a.Slots, transport.DefaultSlots), Window: f.cfg.Window, QueueBytes: f.cfg.QueueBytes,
		Memory: &p.mem, Policy: f.cfg.Policy,
	}, f.now())
	p.routes.Store(&[]route{})
	p.chooseRails(f.choices.of(id))
	return p
}

// lock takes both halves.
func (p *peer) lock() {
	p.recvMu.Lock()
	p.sendMu.Lock()
}

func (p *peer) unlock() {
	p.sendMu.Unlock()
	p.recvMu.Unlock()
}

// receive takes frames of one rail.
func (p *peer) receive(now transport.Time, id transport.RailID, batch []rail.RxFrame, in *transport.Inbox) {
	p.recvMu.Lock()
	if p.ended {
		p.recvMu.Unlock()
		p.fabric.drops.ended.Add(uint64(len(batch)))
		return
	}
	for i := range batch {
		p.assoc.Receive(now, id, batch[i].Data, in)
	}
	p.assoc.EndReceive(now, in)
	p.port.deliver(p, in.Deliveries)
	p.sendMu.Lock() // before recvMu goes: acknowledgements must not overtake each other
	due := p.assoc.DeadlineReceive()
	p.recvMu.Unlock()
	p.assoc.Apply(now, in)
	p.transmit(now)
	due = min(due, p.assoc.DeadlineSend())
	p.report(in)
	p.sendMu.Unlock()
	in.Reset()
	p.clock.due(due)
}

// tick does what time asks and gives the next deadline.
func (p *peer) tick() transport.Time {
	p.recvMu.Lock()
	if p.ended {
		p.recvMu.Unlock()
		return transport.Never
	}
	now := p.fabric.now()
	p.sendMu.Lock()
	due := p.deadline()
	p.sendMu.Unlock()
	if due > now {
		p.recvMu.Unlock()
		return due
	}
	p.assoc.TickReceive(now, &p.in)
	p.port.deliver(p, p.in.Deliveries) // without sendMu: the outlet may send
	p.sendMu.Lock()
	p.assoc.TickSend(now, &p.in)
	p.transmit(now)
	dead := p.report(&p.in)
	p.in.Reset()
	due = p.deadline()
	p.unlock()
	if dead {
		p.fabric.peerDead(p)
		return transport.Never
	}
	return due
}

// deadline is when a tick is due. Both locks are held.
func (p *peer) deadline() transport.Time {
	return min(p.assoc.DeadlineReceive(), p.assoc.DeadlineSend())
}

// settle sends, and tells of what p.in has collected. Both locks are held.
func (p *peer) settle(now transport.Time) {
	p.transmit(now)
	p.report(&p.in)
	p.in.Reset()
	p.clock.due(p.deadline())
}

// transmit sends what may go now. sendMu is held.
func (p *peer) transmit(now transport.Time) {
	if p.closed {
		return
	}
	for more := true; more; {
		p.burst.Reset()
		more = p.assoc.Transmit(now, &p.burst)
		for id := range p.burst.Rails().All() {
			p.sendRail(id)
		}
	}
	if p.full.Load() && p.assoc.Room(max(wire.PacketMax, p.fabric.cfg.QueueBytes/4)) {
		p.hasRoom()
	}
}

// hasRoom lets go of those who wait to send.
func (p *peer) hasRoom() {
	p.full.Store(false)
	p.port.roomAgain()
}

// sendRail gives a rail's part of the burst to its device.
func (p *peer) sendRail(id transport.RailID) {
	frames := p.burst.Frames(id)
	n := 0
	if r := p.route(id); r != nil {
		n = r.device.send(r.info.MAC, frames)
	}
	if n < len(frames) {
		p.assoc.Unsent(id, &p.burst, len(frames)-n)
	}
}

// writable lets the rails of a device send again.
func (p *peer) writable(d *device) {
	p.sendMu.Lock()
	defer p.sendMu.Unlock()
	if p.closed {
		return
	}
	for _, r := range *p.routes.Load() {
		if r.device == d {
			p.assoc.Writable(r.info.ID)
		}
	}
	p.transmit(p.fabric.now())
	p.clock.due(p.assoc.DeadlineSend())
}

// send queues a packet; flush sends it. The error is ErrFull, ErrNoPeer where
// no more comes of the peer, or the packet's own.
func (p *peer) send(pkt *transport.Packet) error {
	p.sendMu.Lock()
	defer p.sendMu.Unlock()
	if p.closed {
		return ErrNoPeer
	}
	err := p.assoc.Send(pkt)
	if err != transport.ErrQueueFull {
		return err
	}
	if !p.linked { // nobody must wait for a peer that may not come back
		return ErrNoPeer
	}
	p.full.Store(true)
	return ErrFull
}

func (p *peer) flush() {
	p.sendMu.Lock()
	defer p.sendMu.Unlock()
	if p.closed {
		return
	}
	p.transmit(p.fabric.now())
	p.clock.due(p.assoc.DeadlineSend())
}

// report tells of events; true if the association is dead. sendMu is held.
func (p *peer) report(in *transport.Inbox) (dead bool) {
	if len(in.Events) == 0 {
		return false
	}
	for _, e := range in.Events {
		if e.Kind == transport.EventDead {
			dead = true
			continue
		}
		p.note(e)
	}
	p.relink()
	return dead
}

// note tells of one event of a rail.
func (p *peer) note(e transport.Event) {
	f := p.fabric
	name := fmt.Sprint(e.Rail)
	if r := p.route(e.Rail); r != nil {
		name = r.device.opt.Name
	}
	out := Event{Peer: p.name, Rail: name}
	if e.Kind == transport.EventMTU {
		out.Kind, out.MTU = "rail_mtu", e.MTU
	} else {
		out.Kind, out.State, out.Reason = "rail", e.State.String(), e.Reason.String()
		was := transport.RailSet(p.heard.Load())
		is := was.Without(e.Rail)
		if e.State != transport.RailDown {
			is = is.With(e.Rail)
		}
		if is != was {
			p.heard.Store(uint64(is))
			f.heard.Store(true)
			f.clock.wake()
		}
	}
	f.emit(out)
	f.cfg.Log.Info("rail", "peer", p.name, "rail", name, "event", e.String())
}

// relink follows whether the peer can be reached, and how large its frames may
// be. sendMu is held.
func (p *peer) relink() {
	up := p.assoc.UpRails()
	was := p.linked
	p.linked = up != 0 || was && p.heard.Load() != 0
	if was && !p.linked {
		p.hasRoom()
	}
	p.port.follow(p, p.linked, p.leastMTU(up&p.use))
}

// leastMTU is the least MTU that rails are proven to pass; 0 without rails.
// sendMu is held.
func (p *peer) leastMTU(rails transport.RailSet) int {
	least := 0
	for id := range rails.All() {
		if m := p.assoc.RailMTU(id); least == 0 || m < least {
			least = m
		}
	}
	return least
}

// moveTo gives the peer's packets to another port.
func (p *peer) moveTo(own *port) {
	p.port.peerGone(p)
	p.lock()
	defer p.unlock()
	p.port = own
	p.relink()
}

// tellHeard passes on which rails are heard. Fabric.mu is held.
func (p *peer) tellHeard(now transport.Time) {
	heard := transport.RailSet(p.heard.Load())
	for _, r := range *p.routes.Load() {
		p.fabric.handshake.Heard(now, p.id, r.info.ID, heard.Has(r.info.ID))
	}
}

// close ends the association; its totals stay with the fabric's. Its goroutine
// ends by itself. Fabric.mu is held.
func (p *peer) close() {
	p.lock()
	defer p.unlock()
	p.clock.stop()
	if !p.closed {
		p.closed, p.ended, p.linked = true, true, false
		st := p.assoc.ReceiveStats()
		p.fabric.past.Add(&st)
		p.assoc.Close()
	}
}
