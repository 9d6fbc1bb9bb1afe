// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tbnet2/tbnet2/rail"
	"github.com/tbnet2/tbnet2/transport"
	"github.com/tbnet2/tbnet2/wire"
)

// etherLeast is the shortest Ethernet frame that a port takes: its header.
const etherLeast = 14

// port is the Ethernet switch between an outlet and the peers. It never
// forwards from one peer to another.
type port struct {
	fabric *Fabric

	handler   atomic.Pointer[func([]transport.Delivery)]
	deliverMu sync.Mutex // one delivery at a time

	links     atomic.Pointer[[]*peer] // peers that were up once; replaced whole
	connected atomic.Int64            // how many of them are linked
	maximum   atomic.Int64            // MaxPacket
	frame     atomic.Int64            // FramePacket
	changed   chan struct{}
	stations  stations

	mu      sync.Mutex // guards what follows
	members map[*peer]member
	room    sync.Cond
	wait    int // how often room came
	closed  atomic.Bool

	drops portDrops
}

// member is what a port knows of a peer.
type member struct {
	linked bool
	mtu    int // least of its rails in use, bytes; 0 unknown
}

// portDrops are packets that a port could not pass, and copies that it made.
type portDrops struct {
	noPeer, short, noOffload, floodFull, noHandler, refused atomic.Uint64
	floodCopies                                             atomic.Uint64
}

func newPort(f *Fabric) *port {
	p := &port{fabric: f, members: map[*peer]member{}, changed: make(chan struct{}, 1)}
	p.stations.known = map[rail.MAC]station{}
	p.room.L = &p.mu
	p.links.Store(&[]*peer{})
	p.maximum.Store(wire.PacketMax)
	return p
}

// Send implements Port.
func (p *port) Send(pkt *transport.Packet) error {
	var scratch [headBytes]byte
	head := firstBytes(pkt, &scratch)
	links := *p.links.Load()
	switch {
	case p.closed.Load():
		return ErrClosed
	case len(head) < etherLeast:
		return p.discard(pkt, &p.drops.short)
	case len(links) == 0:
		return p.discard(pkt, &p.drops.noPeer)
	}
	pkt.Channel = channelOf(head)
	if len(links) == 1 {
		return p.sendTo(links[0], pkt)
	}
	to := rail.MAC(head[:6])
	if to[0]&1 == 0 {
		if known := p.stations.find(to, p.fabric.now()); known != nil {
			return p.sendTo(known, pkt)
		}
	}
	return p.flood(links, pkt)
}

// headBytes is as much of a packet as is looked at: an Ethernet header, two
// VLAN tags, IPv6 with some extension headers, ports.
const headBytes = 128

// firstBytes gives the start of a packet in one piece.
func firstBytes(pkt *transport.Packet, scratch *[headBytes]byte) []byte {
	if len(pkt.Parts) == 1 || len(pkt.Parts) > 1 && len(pkt.Parts[0]) >= headBytes {
		return pkt.Parts[0]
	}
	n := 0
	for _, part := range pkt.Parts {
		n += copy(scratch[n:], part)
	}
	return scratch[:n]
}

// discard ends a packet that nobody takes.
func (p *port) discard(pkt *transport.Packet, reason *atomic.Uint64) error {
	reason.Add(1)
	if pkt.Done != nil {
		pkt.Done(pkt, transport.Aborted)
	}
	return nil
}

func (p *port) sendTo(to *peer, pkt *transport.Packet) error {
	if pkt.HasOffload && !to.offload {
		return p.discard(pkt, &p.drops.noOffload)
	}
	err := to.send(pkt)
	switch err {
	case ErrNoPeer:
		return p.discard(pkt, &p.drops.noPeer)
	case nil, ErrFull:
	default:
		p.drops.refused.Add(1)
	}
	return err
}

// flood sends a packet to every peer: copies of its description, the bytes are
// shared. A peer whose queue is full misses it; where all are, nobody gets it
// and the caller waits.
func (p *port) flood(links []*peer, pkt *transport.Packet) error {
	f := &flooded{pkt: pkt, copies: make([]transport.Packet, len(links))}
	f.left.Store(1) // ours, so that it is not done before all is said
	taken, full := 0, 0
	for i, to := range links {
		c := &f.copies[i]
		c.Parts, c.Channel, c.Offload, c.HasOffload, c.Done = pkt.Parts, pkt.Channel, pkt.Offload, pkt.HasOffload, f.done
		f.left.Add(1)
		switch err := p.sendTo(to, c); err {
		case nil:
			taken++
		case ErrFull:
			full++
			f.left.Add(-1)
		default:
			f.left.Add(-1)
		}
	}
	if taken == 0 && full > 0 {
		return ErrFull
	}
	p.drops.floodFull.Add(uint64(full))
	p.drops.floodCopies.Add(uint64(taken))
	f.done(nil, transport.Aborted)
	return nil
}

// flooded is a packet on its way to several peers.
type flooded struct {
	pkt    *transport.Packet
	copies []transport.Packet
	left   atomic.Int32
	some   atomic.Bool // a copy has got somewhere
}

func (f *flooded) done(c *transport.Packet, o transport.Outcome) {
	if c != nil && o <= transport.Sent {
		f.some.Store(true)
	}
	if f.left.Add(-1) > 0 || f.pkt.Done == nil {
		return
	}
	if f.some.Load() {
		o = transport.Sent
	}
	f.pkt.Done(f.pkt, o)
}

// Flush implements Port.
func (p *port) Flush() {
	for _, to := range *p.links.Load() {
		to.flush()
	}
}

// WaitSend implements Port.
func (p *port) WaitSend() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for before := p.wait; p.wait == before && !p.closed.Load() && p.anyFull(); {
		p.room.Wait()
	}
	if p.closed.Load() {
		return ErrClosed
	}
	return nil
}

// anyFull reports whether some peer has refused a packet and has no room yet.
func (p *port) anyFull() bool {
	return slices.ContainsFunc(*p.links.Load(), func(to *peer) bool { return to.full.Load() })
}

// roomAgain wakes those who wait to send.
func (p *port) roomAgain() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wait++
	p.room.Broadcast()
}

// Handle implements Port.
func (p *port) Handle(f func([]transport.Delivery)) { p.handler.Store(&f) }

// Release implements Port.
func (p *port) Release(b *transport.Buffer) { release(b) }

// deliver hands a peer's packets to the outlet. The peer's receive half is
// locked.
func (p *port) deliver(from *peer, batch []transport.Delivery) {
	if len(batch) == 0 {
		return
	}
	if len(*p.links.Load()) > 1 { // else there is nothing to choose
		p.stations.learn(from, batch, p.fabric.now())
	}
	h := p.handler.Load()
	if h == nil {
		p.drops.noHandler.Add(uint64(len(batch)))
		for i := range batch {
			if batch[i].Buf != nil {
				release(batch[i].Buf)
			}
		}
		return
	}
	p.deliverMu.Lock()
	defer p.deliverMu.Unlock()
	(*h)(batch)
}

// MaxPacket implements Port.
func (p *port) MaxPacket() int { return int(p.maximum.Load()) }

// FramePacket implements Port.
func (p *port) FramePacket() int { return int(p.frame.Load()) }

// Peers implements Port.
func (p *port) Peers() int { return int(p.connected.Load()) }

// Changed implements Port.
func (p *port) Changed() <-chan struct{} { return p.changed }

// follow takes what a peer's rails allow. A peer stays among the links when it
// goes down: its queue waits for it.
func (p *port) follow(of *peer, linked bool, mtu int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m, known := p.members[of]
	if !known && !linked {
		return
	}
	if m.linked != linked {
		p.tell(of, linked)
	}
	m.linked = linked
	if mtu != 0 {
		m.mtu = mtu
	}
	p.members[of] = m
	p.refresh()
}

func (p *port) tell(of *peer, linked bool) {
	if linked {
		p.fabric.emit(Event{Kind: "peer_up", Peer: of.name})
	} else {
		p.fabric.emit(Event{Kind: "peer_down", Peer: of.name, Reason: "no rail is up"})
	}
}

// peerGone forgets a peer.
func (p *port) peerGone(gone *peer) {
	p.stations.forget(gone)
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.members, gone)
	p.refresh()
	p.wait++
	p.room.Broadcast()
}

// refresh recomputes what the outlet sees. mu is held.
func (p *port) refresh() {
	links := make([]*peer, 0, len(p.members))
	connected, maximum, frame := int64(0), int64(wire.PacketMax), int64(wire.PacketMax)
	for of, m := range p.members {
		links = append(links, of)
		if m.linked {
			connected++
		}
		if m.mtu != 0 {
			maximum = min(maximum, int64(maxPacket(m.mtu)))
			frame = min(frame, int64(m.mtu-wire.HeaderLen-wire.DataLen))
		}
	}
	slices.SortFunc(links, comparePeers)
	p.links.Store(&links)
	if len(links) == 0 {
		maximum = p.maximum.Load() // of those who were there last
		frame = p.frame.Load()
	}
	if connected > 0 || len(links) == 0 {
		p.frame.Store(frame)
	}
	wasConnected, wasMaximum := p.connected.Swap(connected), p.maximum.Swap(maximum)
	if wasConnected != connected || wasMaximum != maximum {
		select {
		case p.changed <- struct{}{}:
		default:
		}
	}
}

func (p *port) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed.Store(true)
	p.room.Broadcast()
}
