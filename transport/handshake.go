// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"errors"

	"github.com/tbnet2/tbnet2/wire"
)

// PeerID names a speaker: an endpoint on a host.
type PeerID struct {
	Host     [16]byte // UUID
	Endpoint uint8
}

// HandshakeConfig says who this endpoint is. It is fixed for its life.
type HandshakeConfig struct {
	Host     [16]byte // UUID
	Name     string   // of the host
	Endpoint uint8
	Service  wire.Service
	Epoch    uint64    // drawn when the endpoint starts
	Caps     wire.Caps // of the host; CapCRC is each device's own
	Slots    int       // packets per channel that a peer may have open; 0: DefaultSlots
	// Random gives 64 unpredictable bits.
	Random func() uint64
}

// DeviceID is the caller's number for a local device, below wire.RailsMax.
type DeviceID uint8

// Attachment describes a local device.
type Attachment struct {
	Name    string
	MAC     [6]byte
	MTU     int    // bytes of one frame after the Ethernet header
	Rate    uint64 // bits per second, 0 unknown
	Group   uint64 // equal for devices of one cable or switch segment
	Carrier bool
	CRC     bool // frames to it must carry a CRC
}

// Handshake finds the speakers on the other ends of the local devices, and
// agrees with each on an association and its rails (docs/protocol.md 7). It
// has no clock and no lock: one caller at a time passes frames and the time,
// and takes what is to be sent and what has changed with Take.
type Handshake struct {
	cfg        HandshakeConfig
	helloIndex uint32 // in HELLO; of our endpoint, of no association
	serial     uint64 // of the newest nonce
	devices    [wire.RailsMax]*attached
	peers      []*peer // in the order they were found
	notices    []Notice
	sweepAt    Time
	out        HandshakeOutput
	drops      HandshakeDrops
	stats      HandshakeStats
	refused    bool // the frame in hand counts under a drop
}

// attached is a local device.
type attached struct {
	Attachment
	id      DeviceID
	nonces  nonces
	helloAt Time // when the next HELLO is due
	lastAt  Time // when the last was sent
	resets  bucket
	answers bucket
}

// HandshakeFrame is a frame to be sent on a device.
type HandshakeFrame struct {
	Device DeviceID
	To     [6]byte
	Data   []byte // after the Ethernet header
}

// HandshakeOutput is what a Handshake wants done, each list in order.
type HandshakeOutput struct {
	Frames  []HandshakeFrame
	Changes []HandshakeChange
}

// Errors of AddDevice.
var ErrDevice = errors.New("transport: device id is out of range or in use")

// NewHandshake starts without devices.
func NewHandshake(c HandshakeConfig, now Time) *Handshake {
	c.Slots = orDefault(c.Slots, DefaultSlots)
	h := &Handshake{cfg: c, sweepAt: now + sweepInterval}
	h.helloIndex = h.newIndex()
	return h
}

// AddDevice begins discovery on a device, with a HELLO at once.
func (h *Handshake) AddDevice(now Time, id DeviceID, a Attachment) error {
	if int(id) >= wire.RailsMax || h.devices[id] != nil {
		return ErrDevice
	}
	h.devices[id] = &attached{Attachment: a, id: id, helloAt: now, lastAt: now - hurryInterval,
		resets: newBucket(now, resetsPerSecond, resetsPerSecond), answers: newBucket(now, answersPerSecond, answersBurst)}
	return nil
}

// SetDevice follows a change of a device. A carrier that comes is answered by
// a HELLO at once; one that goes ends what was seen there, not the rails.
func (h *Handshake) SetDevice(now Time, id DeviceID, a Attachment) {
	d := h.devices[id]
	if d == nil {
		return
	}
	was := d.Attachment
	d.Attachment = a
	switch {
	case was.Carrier && !a.Carrier:
		h.dropEdges(func(e *edge) bool { return e.device == id })
	case a.Carrier && was != a:
		d.helloAt = now
	}
}

// RemoveDevice ends the rails of a device.
func (h *Handshake) RemoveDevice(now Time, id DeviceID) {
	if int(id) >= wire.RailsMax || h.devices[id] == nil {
		return
	}
	h.devices[id] = nil
	h.dropEdges(func(e *edge) bool { return e.device == id })
	for _, p := range h.peers {
		for _, a := range p.associations() {
			h.dropRails(p, a, func(r *hsRail) bool { return r.device == id })
		}
	}
}

// Heard tells whether the peer is heard on a rail: while it is not, its device
// keeps asking.
func (h *Handshake) Heard(now Time, id PeerID, rail RailID, heard bool) {
	p := h.peer(id)
	if p == nil || p.current == nil || p.current.rails[rail] == nil {
		return
	}
	r := p.current.rails[rail]
	if d := h.devices[r.device]; r.heard && !heard && d != nil {
		d.helloAt = min(d.helloAt, now+helloInterval)
	}
	r.heard = heard
}

// Forget ends an association, telling the peer. Its devices look for the peer
// anew.
func (h *Handshake) Forget(now Time, id PeerID) {
	if p := h.peer(id); p != nil && p.current != nil {
		h.sendClosing(p)
		h.endAssociation(now, p, GoneForgotten)
	}
}

// Close tells all peers that their associations have ended.
func (h *Handshake) Close(now Time) {
	for _, p := range h.peers {
		if p.current != nil {
			h.sendClosing(p)
			h.endAssociation(now, p, GoneForgotten)
		}
	}
	h.devices = [wire.RailsMax]*attached{}
}

// Tick does what time asks for.
func (h *Handshake) Tick(now Time) {
	if now >= h.sweepAt {
		h.sweep(now)
		h.sweepAt = now + sweepInterval
	}
	for _, d := range h.devices {
		if d != nil && d.Carrier && now >= d.helloAt {
			h.sendHello(now, d)
		}
	}
}

// Deadline is when Tick is due next.
func (h *Handshake) Deadline() Time {
	next := h.sweepAt
	for _, d := range h.devices {
		if d != nil && d.Carrier {
			next = min(next, d.helloAt)
		}
	}
	return next
}

// Take moves what is to be done into o, whose contents are replaced.
func (h *Handshake) Take(o *HandshakeOutput) {
	o.Frames, h.out.Frames = h.out.Frames, o.Frames[:0]
	o.Changes, h.out.Changes = h.out.Changes, o.Changes[:0]
}

// hurry has a device send a HELLO soon, not more often than the quick pace.
func (d *attached) hurry(now Time) {
	d.helloAt = min(d.helloAt, max(now, d.lastAt+hurryInterval))
}

// missing reports whether a device has no rail on which a peer is heard.
func (h *Handshake) missing(id DeviceID) bool {
	for _, p := range h.peers {
		if p.current == nil {
			continue
		}
		for n := range p.current.railSet.All() {
			if r := p.current.rails[n]; r.device == id && r.made && r.heard {
				return false
			}
		}
	}
	return true
}

// newIndex draws an index that no association of ours has.
func (h *Handshake) newIndex() uint32 {
	for {
		index := uint32(h.cfg.Random())&^0xff | uint32(h.cfg.Endpoint)
		if index>>8 != 0 && index != h.helloIndex && !h.knows(index) {
			return index
		}
	}
}

// knows reports whether an association has the index, made or being made.
func (h *Handshake) knows(index uint32) bool {
	for _, p := range h.peers {
		for _, a := range p.associations() {
			if a.index == index {
				return true
			}
		}
	}
	return false
}
