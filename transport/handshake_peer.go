// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"slices"

	"github.com/tbnet2/tbnet2/wire"
)

// peer is a speaker that was heard of.
type peer struct {
	id         PeerID
	name       string
	current    *hsAssociation // nil: none
	pending    *hsAssociation // being made; nil: none
	floor      uint64         // nonces up to this serial make no other association
	dead       [deadEpochs]uint64
	replacedAt Time
}

// hsAssociation is one that is made or being made.
type hsAssociation struct {
	epoch     uint64 // the peer's
	index     uint32 // ours
	peerIndex uint32 // 0 until made
	rails     [wire.RailsMax]*hsRail
	railSet   RailSet
	last      RailID // that was given out: ids come back as late as can be
	edges     []*edge
}

// hsRail is a rail, offered or made.
type hsRail struct {
	id, peerID RailID
	device     DeviceID
	remote     remote
	made       bool
	heard      bool
	info       RailInfo
}

// associations gives those that are.
func (p *peer) associations() []*hsAssociation {
	list := make([]*hsAssociation, 0, 2)
	if p.current != nil {
		list = append(list, p.current)
	}
	if p.pending != nil {
		list = append(list, p.pending)
	}
	return list
}

func (h *Handshake) peer(id PeerID) *peer {
	for _, p := range h.peers {
		if p.id == id {
			return p
		}
	}
	return nil
}

// addPeer gives the peer of that id, new if need be; nil when the table is
// full.
func (h *Handshake) addPeer(id PeerID) *peer {
	if p := h.peer(id); p != nil {
		return p
	}
	if len(h.peers) == peersMost {
		return nil
	}
	p := &peer{id: id}
	h.peers = append(h.peers, p)
	return p
}

// isDead reports whether an epoch of the peer is known to have ended.
func (p *peer) isDead(epoch uint64) bool { return epoch != 0 && slices.Contains(p.dead[:], epoch) }

// bury remembers that an epoch has ended.
func (p *peer) bury(now Time, epoch uint64) {
	copy(p.dead[1:], p.dead[:deadEpochs-1])
	p.dead[0] = epoch
	p.replacedAt = now
}

// attempt gives the association of an epoch of the peer: the current, or the
// pending one, new if need be.
func (h *Handshake) attempt(p *peer, epoch uint64) *hsAssociation {
	switch {
	case p.current != nil && p.current.epoch == epoch:
		return p.current
	case p.pending == nil || p.pending.epoch != epoch:
		p.pending = &hsAssociation{epoch: epoch, index: h.newIndex(), last: wire.RailsMax - 1}
	}
	return p.pending
}

// see notes a HELLO; nil when the table is full.
func (a *hsAssociation) see(now Time, d DeviceID, r remote) *edge {
	e := a.edgeOf(d, r)
	if e == nil {
		if len(a.edges) == edgesMost {
			return nil
		}
		e = &edge{device: d, remote: r, asked: Never}
		a.edges = append(a.edges, e)
	}
	e.seenAt = now
	return e
}

func (a *hsAssociation) edgeOf(d DeviceID, r remote) *edge {
	for _, e := range a.edges {
		if e.device == d && e.remote == r {
			return e
		}
	}
	return nil
}

func (a *hsAssociation) railOf(d DeviceID, r remote) *hsRail {
	for id := range a.railSet.All() {
		if rail := a.rails[id]; rail.device == d && rail.remote == r {
			return rail
		}
	}
	return nil
}

// newRail gives e a rail; nil when all ids are in use.
func (a *hsAssociation) newRail(e *edge) *hsRail {
	for i := range RailID(wire.RailsMax) {
		id := (a.last + 1 + i) % wire.RailsMax
		if a.railSet.Has(id) {
			continue
		}
		r := &hsRail{id: id, device: e.device, remote: e.remote}
		a.rails[id], a.railSet, a.last = r, a.railSet.With(id), id
		return r
	}
	return nil
}

func (a *hsAssociation) freeRail(r *hsRail) {
	a.rails[r.id] = nil
	a.railSet = a.railSet.Without(r.id)
}

// dropRails ends the rails that which picks.
func (h *Handshake) dropRails(p *peer, a *hsAssociation, which func(*hsRail) bool) {
	for id := range a.railSet.All() {
		r := a.rails[id]
		if !which(r) {
			continue
		}
		a.freeRail(r)
		if r.made {
			h.change(HandshakeChange{Kind: ChangeRailGone, Peer: p.id, Rail: r.info})
		}
	}
}

// dropEdges forgets the sightings that which picks.
func (h *Handshake) dropEdges(which func(*edge) bool) {
	for _, p := range h.peers {
		for _, a := range p.associations() {
			a.edges = slices.DeleteFunc(a.edges, which)
			h.withdraw(p, a)
		}
	}
}

// withdraw ends the offers to remotes that are no longer seen.
func (h *Handshake) withdraw(p *peer, a *hsAssociation) {
	h.dropRails(p, a, func(r *hsRail) bool { return !r.made && a.edgeOf(r.device, r.remote) == nil })
}

// makeAssociation puts a in the place of what was there before.
func (h *Handshake) makeAssociation(now Time, p *peer, a *hsAssociation, m *wire.Hello) {
	if old := p.current; old != nil {
		if old.epoch != a.epoch {
			p.bury(now, old.epoch)
		}
		p.current = nil
		h.change(HandshakeChange{Kind: ChangePeerGone, Peer: p.id, Reason: GoneReplaced})
	}
	a.peerIndex = m.Index
	p.current, p.pending, p.floor = a, nil, h.serial
	h.change(HandshakeChange{Kind: ChangePeerMade, Peer: p.id, Association: AssociationInfo{
		Name: m.Name, Epoch: a.epoch, LocalIndex: a.index, PeerIndex: a.peerIndex, Slots: int(m.Slots),
		Retransmit: m.Caps&h.cfg.Caps&wire.CapRetransmit != 0, Offload: m.Caps&wire.CapOffload != 0}})
	h.hurryAll(now)
}

// endAssociation ends the current association of a peer.
func (h *Handshake) endAssociation(now Time, p *peer, why GoneReason) {
	p.current, p.floor = nil, h.serial
	h.change(HandshakeChange{Kind: ChangePeerGone, Peer: p.id, Reason: why})
	h.hurryAll(now)
}

// hurryAll has every device look for peers at once, with fresh nonces.
func (h *Handshake) hurryAll(now Time) {
	for _, d := range h.devices {
		if d != nil {
			d.hurry(now)
		}
	}
}

// makeRail takes a rail as made, in the place of all that have its device, its
// remote or the peer's id for it.
func (h *Handshake) makeRail(p *peer, a *hsAssociation, r *hsRail, m *wire.Hello) {
	h.dropRails(p, a, func(o *hsRail) bool {
		return o != r && (o.device == r.device || o.remote == r.remote || o.made && o.peerID == RailID(m.Rail))
	})
	r.made, r.peerID = true, RailID(m.Rail)
	r.info = h.describe(r, m)
	h.change(HandshakeChange{Kind: ChangeRailMade, Peer: p.id, Rail: r.info})
}

// refreshRail follows what a peer says of a rail that is made.
func (h *Handshake) refreshRail(p *peer, r *hsRail, m *wire.Hello) {
	if info := h.describe(r, m); info != r.info {
		r.info = info
		h.change(HandshakeChange{Kind: ChangeRailInfo, Peer: p.id, Rail: info})
	}
}

// describe joins what both ends say of a rail.
func (h *Handshake) describe(r *hsRail, m *wire.Hello) RailInfo {
	d := h.devices[r.device]
	rate := d.Rate
	if rate == 0 || m.Rate != 0 && m.Rate < rate {
		rate = m.Rate
	}
	peerMTU := int(min(m.MTU, 1<<16-1))
	return RailInfo{ID: r.id, PeerID: RailID(m.Rail), Device: r.device, MAC: r.remote.mac,
		MTU: min(d.MTU, peerMTU), PeerMTU: peerMTU, Rate: rate, PeerRate: m.Rate, Group: d.Group,
		NoCRC: m.Caps&wire.CapCRC == 0}
}

// sweep forgets what was not heard of for long.
func (h *Handshake) sweep(now Time) {
	for _, p := range h.peers {
		for _, a := range p.associations() {
			a.edges = slices.DeleteFunc(a.edges, func(e *edge) bool {
				r := a.railOf(e.device, e.remote)
				return now-e.seenAt > edgeLife && (r == nil || !r.heard)
			})
			h.withdraw(p, a)
		}
		if p.pending != nil && len(p.pending.edges) == 0 {
			p.pending = nil
		}
	}
	h.peers = slices.DeleteFunc(h.peers, func(p *peer) bool {
		return p.current == nil && p.pending == nil && now-p.replacedAt > edgeLife
	})
	h.sweepNotices(now)
}
