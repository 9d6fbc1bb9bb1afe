// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"encoding/binary"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tbnet2/tbnet2/rail"
	"github.com/tbnet2/tbnet2/transport"
	"github.com/tbnet2/tbnet2/wire"
)

// Bounds of a port's address table.
const (
	learnedMost = 4096
	learnedFor  = 5 * time.Minute
)

// etherLeast is the shortest Ethernet frame that a port takes: its header.
const etherLeast = 14

// port is the Ethernet switch between an outlet and the peers.
type port struct {
	fabric *Fabric

	handler   atomic.Pointer[func([]transport.Delivery)]
	deliverMu sync.Mutex // one delivery at a time

	links   atomic.Pointer[[]*peer] // peers with an up rail; replaced whole
	maximum atomic.Int64            // MaxPacket

	mu      sync.Mutex // guards what follows
	learned map[rail.MAC]station
	members map[*peer]bool // with a rail up
	room    sync.Cond
	wait    int // how often room came
	closed  bool
	changed chan struct{}

	drops portDrops
}

// portDrops are packets that a port could not pass.
type portDrops struct {
	noPeer, short, noOffload, floodFull atomic.Uint64
}

// station is where a MAC was seen.
type station struct {
	peer *peer
	at   transport.Time
}

func newPort(f *Fabric) *port {
	p := &port{fabric: f, learned: map[rail.MAC]station{}, members: map[*peer]bool{}, changed: make(chan struct{}, 1)}
	p.room.L = &p.mu
	p.links.Store(&[]*peer{})
	p.maximum.Store(wire.PacketMax)
	return p
}

// Send implements Port.
func (p *port) Send(pkt *transport.Packet) error {
	head := firstBytes(pkt)
	if len(head) < etherLeast {
		p.drops.short.Add(1)
		p.discard(pkt)
		return nil
	}
	pkt.Channel = channelOf(head)
	links := *p.links.Load()
	switch to := rail.MAC(head[:6]); {
	case len(links) == 0:
		p.drops.noPeer.Add(1)
		p.discard(pkt)
		return nil
	case len(links) == 1:
		return p.sendTo(links[0], pkt)
	case to[0]&1 != 0:
		return p.flood(links, pkt)
	default:
		if peer := p.lookup(to); peer != nil {
			return p.sendTo(peer, pkt)
		}
		return p.flood(links, pkt)
	}
}

// firstBytes gives the start of a packet in one piece, as far as Parts[0]
// goes: outlets keep all headers in the first part.
func firstBytes(pkt *transport.Packet) []byte {
	if len(pkt.Parts) == 0 {
		return nil
	}
	return pkt.Parts[0]
}

// discard ends a packet that nobody takes.
func (p *port) discard(pkt *transport.Packet) {
	if pkt.Done != nil {
		pkt.Done(pkt, transport.Aborted)
	}
}

func (p *port) sendTo(to *peer, pkt *transport.Packet) error {
	if pkt.HasOffload && to.caps&wire.CapOffload == 0 {
		p.drops.noOffload.Add(1)
		p.discard(pkt)
		return nil
	}
	err := to.send(pkt)
	if err == ErrNoPeer {
		p.drops.noPeer.Add(1)
		p.discard(pkt)
		return nil
	}
	return err
}

// flood sends a copy of the packet's name, not of its bytes, to every peer. A
// peer whose queue is full misses it.
func (p *port) flood(links []*peer, pkt *transport.Packet) error {
	left := new(atomic.Int32)
	left.Store(int32(len(links)))
	done := func(_ *transport.Packet, o transport.Outcome) {
		if left.Add(-1) == 0 && pkt.Done != nil {
			pkt.Done(pkt, o)
		}
	}
	for _, to := range links {
		c := &transport.Packet{Parts: pkt.Parts, Channel: pkt.Channel, Offload: pkt.Offload, HasOffload: pkt.HasOffload, Done: done}
		if p.sendTo(to, c) != nil {
			p.drops.floodFull.Add(1)
			done(c, transport.Aborted)
		}
	}
	return nil
}

// lookup gives the peer that a MAC was learnt from.
func (p *port) lookup(mac rail.MAC) *peer {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, ok := p.learned[mac]
	if !ok || p.fabric.now()-s.at > transport.Time(learnedFor) {
		return nil
	}
	return s.peer
}

// learn notes where a packet came from, if there is a choice of peers at all.
func (p *port) learn(from *peer, frame []byte) {
	if len(frame) < etherLeast || len(*p.links.Load()) < 2 || frame[6]&1 != 0 {
		return
	}
	mac := rail.MAC(frame[6:12])
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.learned[mac]; known || len(p.learned) < learnedMost {
		p.learned[mac] = station{from, p.fabric.now()}
	}
}

// Flush implements Port.
func (p *port) Flush() {
	for _, peer := range *p.links.Load() {
		peer.flush()
	}
}

// WaitSend implements Port.
func (p *port) WaitSend() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for before := p.wait; p.wait == before && !p.closed && p.anyFull(); {
		p.room.Wait()
	}
	if p.closed {
		return ErrClosed
	}
	return nil
}

// anyFull reports whether some peer has refused a packet and has no room yet.
func (p *port) anyFull() bool {
	for _, peer := range *p.links.Load() {
		if peer.full.Load() {
			return true
		}
	}
	return false
}

// roomAgain wakes those who wait to send.
func (p *port) roomAgain() {
	p.mu.Lock()
	p.wait++
	p.room.Broadcast()
	p.mu.Unlock()
}

// Handle implements Port.
func (p *port) Handle(f func([]transport.Delivery)) { p.handler.Store(&f) }

// Release implements Port.
func (p *port) Release(b *transport.Buffer) { p.fabric.mem.Put(b) }

// deliver hands a peer's packets to the outlet. The peer's receive half is
// locked.
func (p *port) deliver(from *peer, batch []transport.Delivery) {
	if len(batch) == 0 {
		return
	}
	p.learn(from, batch[0].Data)
	h := p.handler.Load()
	if h == nil {
		for i := range batch {
			if batch[i].Buf != nil {
				p.fabric.mem.Put(batch[i].Buf)
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

// Peers implements Port.
func (p *port) Peers() int { return len(*p.links.Load()) }

// Changed implements Port.
func (p *port) Changed() <-chan struct{} { return p.changed }

// railsChanged follows the rails of a peer, whose send half is locked.
func (p *port) railsChanged(of *peer) {
	up, mtu := of.upRails()
	of.mtu.Store(int64(mtu))
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.members[of] != (up > 0) {
		if up > 0 {
			p.members[of] = true
			p.fabric.emit(Event{Kind: "peer_up", Peer: of.name})
		} else {
			delete(p.members, of)
		}
	}
	p.refresh()
}

// peerGone forgets a peer.
func (p *port) peerGone(gone *peer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.members, gone)
	for mac, s := range p.learned {
		if s.peer == gone {
			delete(p.learned, mac)
		}
	}
	p.refresh()
	p.wait++
	p.room.Broadcast()
}

// refresh recomputes what the outlet sees. mu is held.
func (p *port) refresh() {
	links := make([]*peer, 0, len(p.members))
	maximum := wire.PacketMax
	for peer := range p.members {
		links = append(links, peer)
		maximum = min(maximum, maxPacket(int(peer.mtu.Load())))
	}
	changed := len(links) != len(*p.links.Load()) || int64(maximum) != p.maximum.Load()
	p.links.Store(&links)
	if len(links) > 0 {
		p.maximum.Store(int64(maximum))
	}
	if changed {
		select {
		case p.changed <- struct{}{}:
		default:
		}
	}
}

// maxPacket is the largest packet that fills its last frame well: one frame
// where the MTU is large, else as many as a 64 KiB packet takes.
func maxPacket(mtu int) int {
	const heads = wire.HeaderLen + wire.DataLen
	if mtu >= 1<<15 {
		return min(mtu-heads-wire.OffloadLen, wire.PacketMax)
	}
	first := (mtu - heads - wire.OffloadLen) &^ (wire.Unit - 1)
	each := (mtu - heads) &^ (wire.Unit - 1)
	if mtu == 0 || each <= 0 {
		return wire.PacketMax
	}
	return first + (65535-first)/each*each
}

func (p *port) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.room.Broadcast()
}

// channelOf spreads flows over the channels: the same for both directions of
// a flow, and the same for all packets of one.
func channelOf(frame []byte) uint8 {
	h := flowHash(frame)
	h ^= h >> 16
	h ^= h >> 8
	h ^= h >> 4
	return uint8(h % wire.Channels)
}

// EtherTypes that a flow is looked for in.
const (
	typeIPv4 = 0x0800
	typeIPv6 = 0x86dd
	typeVLAN = 0x8100
	typeQinQ = 0x88a8
)

// flowHash is symmetric in source and destination.
func flowHash(frame []byte) uint32 {
	be := binary.BigEndian
	t, body := be.Uint16(frame[12:]), frame[14:]
	for (t == typeVLAN || t == typeQinQ) && len(body) >= 4 {
		t, body = be.Uint16(body[2:]), body[4:]
	}
	switch {
	case t == typeIPv4 && len(body) >= 20:
		h := be.Uint32(body[12:]) ^ be.Uint32(body[16:])
		header := int(body[0]&0x0f) * 4
		if be.Uint16(body[6:])&0x3fff != 0 || header < 20 {
			return mix(h) // a fragment: its ports are not in all of them
		}
		return mix(h) + ports(body[9], body, header)
	case t == typeIPv6 && len(body) >= 40:
		h := uint32(0)
		for i := 8; i < 40; i += 4 {
			h ^= be.Uint32(body[i:])
		}
		return mix(h) + ports(body[6], body, 40)
	}
	return mix(be.Uint32(frame[2:]) ^ be.Uint32(frame[8:]))
}

// ports hashes the ports of TCP and UDP.
func ports(protocol byte, body []byte, at int) uint32 {
	if protocol != 6 && protocol != 17 || len(body) < at+4 {
		return 0
	}
	be := binary.BigEndian
	return mix(uint32(be.Uint16(body[at:])) ^ uint32(be.Uint16(body[at+2:])) | 1<<20)
}

// mix spreads the bits of x (Knuth's multiplicative hash).
func mix(x uint32) uint32 {
	x *= 2654435769
	return x ^ x>>15
}
