// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bytes"

	"github.com/tbnet2/tbnet2/wire"
)

// IsHandshake reports whether a frame is one for Handshake.Receive.
func IsHandshake(frame []byte) bool {
	return len(frame) < wire.HeaderLen || wire.Type(frame[0]&0x0f) <= wire.TypeReset
}

// Receive takes one frame of the handshake from a device.
func (h *Handshake) Receive(now Time, id DeviceID, from [6]byte, frame []byte) {
	h.stats.Frames++
	h.refused = false
	if d := h.devices[id]; d == nil {
		h.drop(HandshakeNoDevice)
	} else {
		h.dispatch(now, d, from, frame)
	}
	if !h.refused {
		h.stats.Taken++
	}
}

// drop counts the frame in hand under its first reason.
func (h *Handshake) drop(why HandshakeDrop) {
	if !h.refused {
		h.refused = true
		h.drops[why]++
	}
}

func (h *Handshake) dispatch(now Time, d *attached, from [6]byte, frame []byte) {
	var hd wire.Header
	body, err := wire.ParseHeader(frame, &hd)
	switch {
	case err == wire.ErrVersion:
		h.otherVersion(now, d, from, frame)
	case err != nil:
		h.drop(HandshakeMalformed)
	case hd.Flags&wire.FlagCRC != 0 && wire.Sum(frame[:wire.HeaderLen], body) != hd.CRC,
		hd.Flags&wire.FlagCRC == 0 && d.CRC && (hd.Type == wire.TypeHelloAck || hd.Type == wire.TypeConfirm):
		h.drop(HandshakeCRC)
	case hd.Type == wire.TypeReset:
		h.reset(now, d, from, body)
	case hd.Type <= wire.TypeConfirm:
		h.greeting(now, d, from, &hd, body)
	default:
		h.drop(HandshakeMalformed)
	}
}

// greeting takes HELLO, HELLO_ACK or CONFIRM.
func (h *Handshake) greeting(now Time, d *attached, from [6]byte, hd *wire.Header, body []byte) {
	var m wire.Hello
	if wire.ParseHello(body, &m) != nil {
		h.drop(HandshakeMalformed)
		return
	}
	if !h.acceptable(now, d, from, &m) {
		return
	}
	id := PeerID{Host: m.Host, Endpoint: uint8(m.Index)}
	r := remote{from, m.Group}
	switch {
	case hd.Type == wire.TypeHello:
		h.hello(now, d, r, id, &m)
	case !m.HasRail:
		h.drop(HandshakeMalformed)
	case h.decides(id) != (hd.Type == wire.TypeConfirm):
		h.drop(HandshakeWrongRole)
	case hd.Type == wire.TypeHelloAck:
		h.helloAck(now, d, r, id, hd, &m)
	default:
		h.confirm(now, d, r, id, hd, &m)
	}
}

// decides reports whether this host chooses the rails to a peer.
func (h *Handshake) decides(id PeerID) bool { return bytes.Compare(h.cfg.Host[:], id.Host[:]) < 0 }

// hello notes who is there. The host that decides offers a rail if the pair is
// chosen; the other makes sure to be heard.
func (h *Handshake) hello(now Time, d *attached, r remote, id PeerID, m *wire.Hello) {
	p := h.addPeer(id)
	if p == nil {
		h.drop(HandshakeFull)
		return
	}
	p.name = m.Name
	a := h.attempt(p, m.Epoch)
	e := a.see(now, d.id, r)
	if e == nil {
		h.drop(HandshakeFull)
		return
	}
	e.nonce, e.helloIdx = m.Nonce, m.Index
	if h.decides(id) {
		h.offer(now, d, p, a, e)
		return
	}
	if rail := a.railOf(d.id, r); rail == nil || !rail.heard {
		d.hurry(now)
	}
}

// offer answers a HELLO, if the pair is chosen.
func (h *Handshake) offer(now Time, d *attached, p *peer, a *hsAssociation, e *edge) {
	if now-e.asked > offerPatience {
		e.doubtful, e.asked = now+doubtTime, Never
	}
	h.match(now, p, a)
	rail := a.railOf(e.device, e.remote)
	if rail == nil {
		h.drop(HandshakeNotChosen)
		return
	}
	if !d.answers.take(now) {
		h.drop(HandshakeRate)
		return
	}
	e.asked = min(e.asked, now)
	used := e.used
	if a == p.pending {
		used = max(used, p.floor)
	}
	n := h.freshAfter(d, used)
	h.sendGreeting(d, wire.TypeHelloAck, e.remote.mac, e.helloIdx, n.value, e.nonce, a.index, rail)
}

// helloAck takes a rail as made: the peer has chosen it, and has heard us.
func (h *Handshake) helloAck(now Time, d *attached, r remote, id PeerID, hd *wire.Header, m *wire.Hello) {
	serial := d.nonces.find(m.Echo)
	switch {
	case hd.Index != h.helloIndex:
		h.drop(HandshakeWrongIndex)
		return
	case serial == 0:
		h.drop(HandshakeStale)
		return
	case !d.answers.take(now):
		h.drop(HandshakeRate)
		return
	}
	p := h.addPeer(id)
	if p == nil {
		h.drop(HandshakeFull)
		return
	}
	p.name = m.Name
	a := p.current
	if a == nil || a.epoch != m.Epoch || a.peerIndex != m.Index {
		if serial <= p.floor {
			h.drop(HandshakeStale)
			return
		}
		a = &hsAssociation{epoch: m.Epoch, index: h.newIndex(), last: wire.RailsMax - 1}
	}
	h.accept(now, d, p, a, r, serial, m)
}

// accept makes the rail that a HELLO_ACK offers, and its association if need
// be, and confirms it.
func (h *Handshake) accept(now Time, d *attached, p *peer, a *hsAssociation, r remote, serial uint64, m *wire.Hello) {
	e := a.see(now, d.id, r)
	if e == nil {
		h.drop(HandshakeFull)
		return
	}
	rail := a.railOf(d.id, r)
	if fresh := rail == nil || !rail.made || rail.peerID != RailID(m.Rail); fresh {
		if serial <= e.used {
			h.drop(HandshakeStale)
			return
		}
		h.dropRails(p, a, func(o *hsRail) bool { return o.device == d.id || o.remote == r })
		if a != p.current {
			h.makeAssociation(now, p, a, m)
		}
		if rail = a.newRail(e); rail == nil {
			h.drop(HandshakeFull)
			return
		}
		e.used = serial
		h.makeRail(p, a, rail, m)
	} else if serial > e.used {
		h.refreshRail(p, rail, m)
	}
	h.sendGreeting(d, wire.TypeConfirm, r.mac, m.Index, d.nonces[0].value, m.Nonce, a.index, rail)
}

// confirm takes an offered rail as made.
func (h *Handshake) confirm(now Time, d *attached, r remote, id PeerID, hd *wire.Header, m *wire.Hello) {
	p := h.peer(id)
	if p == nil {
		h.drop(HandshakeWrongIndex)
		return
	}
	var a *hsAssociation
	for _, o := range p.associations() {
		if o.index == hd.Index && o.epoch == m.Epoch {
			a = o
		}
	}
	serial := d.nonces.find(m.Echo)
	switch {
	case a == nil:
		h.drop(HandshakeWrongIndex)
	case serial == 0, a == p.pending && serial <= p.floor:
		h.drop(HandshakeStale)
	default:
		h.confirmed(now, p, a, a.edgeOf(d.id, r), serial, m)
	}
}

func (h *Handshake) confirmed(now Time, p *peer, a *hsAssociation, e *edge, serial uint64, m *wire.Hello) {
	var rail *hsRail
	if e != nil {
		rail = a.railOf(e.device, e.remote)
	}
	if rail == nil {
		h.drop(HandshakeNotChosen)
		return
	}
	e.asked, e.doubtful = Never, 0
	switch same := a == p.current && a.peerIndex == m.Index; {
	case rail.made && same && rail.peerID == RailID(m.Rail):
		if serial > e.used {
			h.refreshRail(p, rail, m)
		}
		return
	case serial <= e.used:
		h.drop(HandshakeStale)
		return
	case a == p.current && !same:
		// The peer has begun a new association under our old index: frames of
		// both could not be told apart, so neither is kept.
		e.used = serial
		h.sendReset(h.devices[e.device], e.remote.mac, a.index, wire.ResetUnknown)
		h.endAssociation(now, p, GoneReplaced)
		return
	case rail.made:
		// The peer has the rail anew: so must we, under another id.
		e.used = serial
		h.dropRails(p, a, func(o *hsRail) bool { return o == rail })
		return
	}
	e.used = serial
	if a == p.pending {
		h.makeAssociation(now, p, a, m)
	}
	h.makeRail(p, a, rail, m)
}

// reset ends the association that a peer says it does not have, if that is
// really the one in use there.
func (h *Handshake) reset(now Time, d *attached, from [6]byte, body []byte) {
	m, err := wire.ParseReset(body)
	if err != nil {
		h.drop(HandshakeMalformed)
		return
	}
	for _, p := range h.peers {
		if p.current == nil || p.current.peerIndex != m.Index {
			continue
		}
		for id := range p.current.railSet.All() {
			if r := p.current.rails[id]; r.made && r.device == d.id && r.remote.mac == from {
				why := GoneReset
				if m.Reason == wire.ResetClosing {
					why = GoneClosed
				}
				h.endAssociation(now, p, why)
				return
			}
		}
	}
	h.drop(HandshakeWrongIndex)
}

// UnknownIndex answers a frame whose index no association has with a RESET, if
// it was meant for this endpoint.
func (h *Handshake) UnknownIndex(now Time, id DeviceID, from [6]byte, index uint32) {
	d := h.devices[id]
	if d == nil || uint8(index) != h.cfg.Endpoint || h.knows(index) {
		return
	}
	if !d.resets.take(now) {
		h.stats.ResetsHeld++
		return
	}
	h.sendReset(d, from, index, wire.ResetUnknown)
}

// otherVersion names the host that speaks another version, as far as its HELLO
// can be read.
func (h *Handshake) otherVersion(now Time, d *attached, from [6]byte, frame []byte) {
	h.drop(HandshakeVersion)
	if len(frame) < wire.HeaderLen || wire.Type(frame[0]&0x0f) != wire.TypeHello {
		return
	}
	copied := append([]byte{wire.Version<<4 | byte(wire.TypeHello)}, frame[1:]...)
	var hd wire.Header
	var m wire.Hello
	if body, err := wire.ParseHeader(copied, &hd); err != nil || wire.ParseHello(body, &m) != nil {
		return
	}
	if m.VersionLow > wire.Version || m.VersionHigh < wire.Version {
		h.acceptable(now, d, from, &m)
	}
}

// sendHello asks who is there.
func (h *Handshake) sendHello(now Time, d *attached) {
	interval := helloIdle
	if h.missing(d.id) {
		interval = helloInterval
	}
	d.lastAt, d.helloAt = now, now+interval
	h.sendGreeting(d, wire.TypeHello, wire.HelloMAC, 0, h.draw(d).value, 0, h.helloIndex, nil)
}

// sendGreeting sends HELLO, HELLO_ACK or CONFIRM; to is where, index the
// receiver's, local ours.
func (h *Handshake) sendGreeting(d *attached, t wire.Type, to [6]byte, index uint32, nonce, echo uint64, local uint32, r *hsRail) {
	m := wire.Hello{Nonce: nonce, Echo: echo, Host: h.cfg.Host, Epoch: h.cfg.Epoch, Index: local, Service: h.cfg.Service,
		VersionLow: wire.Version, VersionHigh: wire.Version, Group: d.Group, MTU: uint32(d.MTU), Rate: d.Rate,
		Caps: h.cfg.Caps, Slots: uint32(h.cfg.Slots), Name: h.cfg.Name}
	if d.CRC {
		m.Caps |= wire.CapCRC
	}
	if r != nil {
		m.Rail, m.HasRail = uint8(r.id), true
	}
	h.send(d, t, to, index, wire.AppendHello(make([]byte, wire.HeaderLen), &m))
}

// sendReset says that we have no association of that index.
func (h *Handshake) sendReset(d *attached, to [6]byte, index uint32, reason uint8) {
	h.send(d, wire.TypeReset, to, 0, wire.AppendReset(make([]byte, wire.HeaderLen), wire.Reset{Index: index, Reason: reason}))
}

// sendClosing tells a peer on all rails that the association has ended.
func (h *Handshake) sendClosing(p *peer) {
	for id := range p.current.railSet.All() {
		if r := p.current.rails[id]; r.made {
			h.sendReset(h.devices[r.device], r.remote.mac, p.current.index, wire.ResetClosing)
		}
	}
}

// send adds a frame to the output; its body stands behind room for the header.
func (h *Handshake) send(d *attached, t wire.Type, to [6]byte, index uint32, frame []byte) {
	hd := wire.Header{Type: t, Length: uint16(len(frame) - wire.HeaderLen), Index: index}
	hd.Put(frame)
	wire.Seal(frame)
	h.out.Frames = append(h.out.Frames, HandshakeFrame{Device: d.id, To: to, Data: frame})
}
