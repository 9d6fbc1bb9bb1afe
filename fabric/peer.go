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
	key        transport.PeerKey
	host       uuid.UUID
	name       string
	index      uint32
	caps       wire.Caps
	retransmit bool            // in force
	chosen     map[string]bool // by SetRails; nil: all

	port   *port                   // that its packets go to
	routes atomic.Pointer[[]route] // replaced whole, with both locks held
	full   atomic.Bool             // the port has seen ErrFull
	mtu    atomic.Int64            // least MTU of the rails that are up, bytes

	recvMu sync.Mutex // guards the association's receive half; taken before sendMu
	sendMu sync.Mutex // guards its send half and what follows
	assoc  *transport.Association
	burst  transport.Burst
	in     transport.Inbox // of calls that are not of a device
	closed bool
	ended  bool // the same, for the receive half
}

// route is a rail: a device here and a MAC there.
type route struct {
	device *device
	mac    rail.MAC
	id     transport.RailID
	hello  wire.Hello // what the peer told on it
}

func newPeer(f *Fabric, key transport.PeerKey, h *wire.Hello, index uint32) *peer {
	p := &peer{fabric: f, key: key, host: uuid.UUID(key.Host), name: cmp.Or(h.Name, uuid.UUID(key.Host).String()),
		index: index, caps: h.Caps, port: f.portFor(key)}
	p.retransmit = f.cfg.Retransmit && h.Caps&wire.CapRetransmit != 0
	p.assoc = transport.New(transport.Config{
		Class:      f.cfg.class(),
		Retransmit: p.retransmit,
		SendCRC:    true, RequireCRC: true,
		Unordered:  f.cfg.Unordered,
		LocalIndex: index, PeerIndex: h.Index,
		Slots: int(cmp.Or(h.Slots, transport.DefaultSlots)), Window: f.cfg.Window, QueueBytes: f.cfg.QueueBytes,
		Memory: &f.mem, Policy: f.cfg.Policy,
	}, f.now())
	p.routes.Store(&[]route{})
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

// railOf gives the rail of a device and a remote MAC.
func (p *peer) railOf(d *device, mac rail.MAC) (transport.RailID, bool) {
	routes := *p.routes.Load()
	for i := range routes {
		if routes[i].device == d && routes[i].mac == mac {
			return routes[i].id, true
		}
	}
	return 0, false
}

// route gives a rail's route, nil if it is gone.
func (p *peer) route(id transport.RailID) *route {
	routes := *p.routes.Load()
	for i := range routes {
		if routes[i].id == id {
			return &routes[i]
		}
	}
	return nil
}

// addRail adds the rail that a handshake has made.
func (p *peer) addRail(now transport.Time, d *device, a *transport.Action) error {
	p.lock()
	defer p.unlock()
	p.dropRoutes(now, func(r *route) bool { return r.id == a.Rail || r.device == d || r.mac == rail.MAC(a.MAC) })
	info := d.dev.Info()
	err := p.assoc.AddRail(now, transport.RailConfig{
		ID: a.Rail, PeerID: transport.RailID(a.Hello.Rail), MTU: min(info.MTU, int(a.Hello.MTU)),
		Rate:  transport.RateFromBits(min(info.Rate, cmp.Or(a.Hello.Rate, info.Rate))),
		Group: info.Group, Weight: d.opt.Weight, Ring: info.Ring,
		NoCRC: a.Hello.Caps&wire.CapCRC == 0, TrustLink: d.opt.NoCRC,
	})
	if err != nil {
		return err
	}
	routes := append([]route(nil), *p.routes.Load()...)
	routes = append(routes, route{device: d, mac: rail.MAC(a.MAC), id: a.Rail, hello: a.Hello})
	p.routes.Store(&routes)
	p.assoc.SetEnabled(now, a.Rail, d.enabled, &p.in)
	p.applyChoice(now)
	p.settle(now)
	return nil
}

// applyChoice has the rails that SetRails chose carry data. Both locks are held.
func (p *peer) applyChoice(now transport.Time) {
	if p.chosen == nil {
		return
	}
	set := transport.RailSet(0)
	for _, r := range *p.routes.Load() {
		if p.chosen[r.device.opt.Name] {
			set = set.With(r.id)
		}
	}
	p.assoc.SetUse(now, set)
}

// dropRoutes removes the rails that f picks. Both locks are held.
func (p *peer) dropRoutes(now transport.Time, f func(*route) bool) {
	kept := []route{}
	for _, r := range *p.routes.Load() {
		if f(&r) {
			p.assoc.RemoveRail(now, r.id, &p.in)
		} else {
			kept = append(kept, r)
		}
	}
	p.routes.Store(&kept)
}

// removeDevice removes the rails of a device. Fabric.mu is held.
func (p *peer) removeDevice(now transport.Time, d *device) {
	p.lock()
	defer p.unlock()
	p.dropRoutes(now, func(r *route) bool { return r.device == d })
	p.settle(now)
}

// deviceChanged follows a device's carrier and MTU. Fabric.mu is held.
func (p *peer) deviceChanged(now transport.Time, d *device, info rail.Info) {
	p.lock()
	defer p.unlock()
	for _, r := range *p.routes.Load() {
		if r.device != d {
			continue
		}
		p.assoc.SetCarrier(now, r.id, info.Carrier, &p.in)
		if err := p.assoc.SetMTU(now, r.id, min(info.MTU, int(r.hello.MTU))); err != nil {
			p.fabric.cfg.Log.Warn("rail MTU", "rail", d.opt.Name, "err", err)
		}
	}
	p.settle(now)
}

// settle tells of what p.in has collected, and sends. Both locks are held.
func (p *peer) settle(now transport.Time) {
	p.transmit(now)
	p.report(&p.in)
	p.in.Reset()
}

// receive takes frames of one rail.
func (p *peer) receive(now transport.Time, id transport.RailID, batch []rail.RxFrame, in *transport.Inbox) {
	p.recvMu.Lock()
	if p.ended {
		p.recvMu.Unlock()
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
	p.fabric.clock.due(due)
}

// tick does what time asks and gives the next deadline.
func (p *peer) tick() transport.Time {
	f := p.fabric
	p.lock()
	if p.closed {
		p.unlock()
		return transport.Never
	}
	now := f.now()
	due := min(p.assoc.DeadlineReceive(), p.assoc.DeadlineSend())
	if due > now {
		p.unlock()
		return due
	}
	p.assoc.TickReceive(now, &p.in)
	p.port.deliver(p, p.in.Deliveries)
	p.assoc.TickSend(now, &p.in)
	p.transmit(now)
	dead := p.report(&p.in)
	p.in.Reset()
	due = min(p.assoc.DeadlineReceive(), p.assoc.DeadlineSend())
	p.unlock()
	if dead {
		f.mu.Lock()
		f.endPeer(p.key, "no rail was up for 60 s")
		f.mu.Unlock()
	}
	return due
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
	if p.full.Load() && p.assoc.Room(wire.PacketMax) {
		p.full.Store(false)
		p.port.roomAgain()
	}
}

// sendRail gives a rail's part of the burst to its device.
func (p *peer) sendRail(id transport.RailID) {
	frames := p.burst.Frames(id)
	r := p.route(id)
	if r == nil {
		p.assoc.Unsent(id, &p.burst, len(frames))
		return
	}
	if n := r.device.send(r.mac, frames); n < len(frames) {
		p.assoc.Unsent(id, &p.burst, len(frames)-n)
		r.device.awaitRoom()
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
			p.assoc.Writable(r.id)
		}
	}
	p.transmit(p.fabric.now())
}

// send queues a packet; flush sends it.
func (p *peer) send(pkt *transport.Packet) error {
	p.sendMu.Lock()
	defer p.sendMu.Unlock()
	if p.closed {
		return ErrNoPeer
	}
	err := p.assoc.Send(pkt)
	if err == transport.ErrQueueFull {
		p.full.Store(true)
		return ErrFull
	}
	return err
}

func (p *peer) flush() {
	p.sendMu.Lock()
	if p.closed {
		p.sendMu.Unlock()
		return
	}
	p.transmit(p.fabric.now())
	due := p.assoc.DeadlineSend()
	p.sendMu.Unlock()
	p.fabric.clock.due(due)
}

// report tells of events; true if the association is dead. sendMu is held.
func (p *peer) report(in *transport.Inbox) (dead bool) {
	for _, e := range in.Events {
		if e.Kind == transport.EventDead {
			dead = true
			continue
		}
		name := fmt.Sprint(e.Rail)
		if r := p.route(e.Rail); r != nil {
			name = r.device.opt.Name
		}
		out := Event{Peer: p.name, Rail: name}
		if e.Kind == transport.EventMTU {
			out.Kind, out.MTU = "rail_mtu", e.MTU
		} else {
			out.Kind, out.State, out.Reason = "rail", e.State.String(), e.Reason.String()
		}
		p.fabric.emit(out)
		p.fabric.cfg.Log.Info("rail", "peer", p.name, "rail", name, "event", e.String())
	}
	if len(in.Events) > 0 {
		p.port.railsChanged(p)
	}
	return dead
}

// upRails counts the rails that carry data and gives their least MTU. sendMu
// is held.
func (p *peer) upRails() (n, mtu int) {
	for id := range p.assoc.UpRails().All() {
		m := p.assoc.RailMTU(id)
		if n++; n == 1 || m < mtu {
			mtu = m
		}
	}
	return n, mtu
}

// close ends the association.
func (p *peer) close() {
	p.lock()
	defer p.unlock()
	if p.closed {
		return
	}
	p.closed, p.ended = true, true
	p.assoc.Close()
}
