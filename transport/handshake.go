// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bytes"
	"fmt"

	"github.com/tbnet2/tbnet2/wire"
)

// Numbers of docs/protocol.md 7.
const (
	helloFast   = 100 * Millisecond // while a rail is missing
	helloSlow   = 1 * Second
	noncesKept  = 4
	sightedFor  = 3500 * Millisecond // tuning: three slow HELLOs
	pairingFor  = 1 * Second         // tuning: a chosen pair that is not confirmed is free again
	peersMost   = 64                 // (host, endpoint) pairs remembered
	sightsMost  = 256                // per peer
	resetsMost  = 10                 // per second and device
	resetWindow = 1 * Second
)

// MAC is an Ethernet address.
type MAC [6]byte

// Identity is what a speaker tells of itself.
type Identity struct {
	Host     [16]byte
	Name     string
	Epoch    uint64
	Endpoint uint8
	Service  wire.Service
	Caps     wire.Caps
	Slots    uint32
}

// PeerKey names a speaker elsewhere.
type PeerKey struct {
	Host     [16]byte
	Endpoint uint8
}

// DeviceFacts is what HELLO tells of a device.
type DeviceFacts struct {
	MTU   int
	Rate  uint64 // bits per second
	Group uint64
	// TrustLink: frames to us need no CRC, the link has its own.
	TrustLink bool
}

// Handshake makes rails and associations of devices (docs/protocol.md 7). It
// serves one speaker. Its methods must not run at the same time.
type Handshake struct {
	self    Identity
	random  func() uint64
	devices []*hsDevice // by id; nil where removed
	peers   map[PeerKey]*hsPeer
	order   []PeerKey // of peers, oldest first
	told    map[string]Time
}

type hsDevice struct {
	facts    DeviceFacts
	carrier  bool
	quiet    bool // all its rails are heard
	nonces   [noncesKept]uint64
	nonceAt  int
	helloAt  Time
	resets   int
	resetsAt Time
}

// hsPeer is a speaker elsewhere: the association there is, and the one that a
// handshake under way would make.
type hsPeer struct {
	key          PeerKey
	hello        wire.Hello // newest believed
	made         bool       // an association exists
	index        uint32     // ours, of the association
	pending      uint32     // ours, of the next one
	pendingEpoch uint64
	sights       []sight
	pairs        []pair
}

// sight is a remote MAC seen on a device.
type sight struct {
	device int
	mac    MAC
	at     Time
}

// pair is a rail, or one being made.
type pair struct {
	device    int
	mac       MAC
	id        RailID
	confirmed bool
	since     Time
	nonce     uint64 // of ours that made it; makes no other change
}

// Action is what the caller has to do, in order.
type Action struct {
	Kind   ActionKind
	Device int
	To     MAC    // Send; zero: the multicast of HELLO
	Frame  []byte // Send
	Peer   PeerKey
	Hello  wire.Hello // NewPeer, NewRail: what the peer told
	Index  uint32     // NewPeer: ours
	Rail   RailID     // NewRail: ours; the peer's is Hello.Rail
	MAC    MAC        // NewRail
	Text   string     // Mismatch
}

// ActionKind says what an Action asks.
type ActionKind uint8

// Action kinds.
const (
	ActSend     ActionKind = iota
	ActNewPeer             // make an association; an older one of the peer is gone
	ActNewRail             // add a rail to the peer's association
	ActEndPeer             // the association is gone
	ActMismatch            // say why there is none
)

// NewHandshake makes a handshake. random gives numbers nobody can guess.
func NewHandshake(self Identity, random func() uint64) *Handshake {
	return &Handshake{self: self, random: random, peers: map[PeerKey]*hsPeer{}, told: map[string]Time{}}
}

// AddDevice gives the id of a new device.
func (h *Handshake) AddDevice(now Time, f DeviceFacts, carrier bool) int {
	d := &hsDevice{facts: f, carrier: carrier, helloAt: now}
	for i, old := range h.devices {
		if old == nil {
			h.devices[i] = d
			return i
		}
	}
	h.devices = append(h.devices, d)
	return len(h.devices) - 1
}

// RemoveDevice forgets a device and its rails.
func (h *Handshake) RemoveDevice(id int) {
	h.devices[id] = nil
	for _, p := range h.peers {
		p.pairs = deleteIf(p.pairs, func(q pair) bool { return q.device == id })
		p.sights = deleteIf(p.sights, func(s sight) bool { return s.device == id })
	}
}

// SetDevice follows what is known of a device; quiet means that every rail it
// could have is heard.
func (h *Handshake) SetDevice(now Time, id int, f DeviceFacts, carrier, quiet bool) {
	d := h.devices[id]
	if carrier && !d.carrier || d.quiet && !quiet {
		d.helloAt = now
	}
	d.facts, d.carrier, d.quiet = f, carrier, quiet
}

// Deadline is when Tick is due.
func (h *Handshake) Deadline() Time {
	next := Never
	for _, d := range h.devices {
		if d != nil && d.carrier {
			next = min(next, d.helloAt)
		}
	}
	return next
}

// Tick sends the HELLOs that are due.
func (h *Handshake) Tick(now Time, acts []Action) []Action {
	for id, d := range h.devices {
		if d == nil || !d.carrier || now < d.helloAt {
			continue
		}
		d.nonceAt = (d.nonceAt + 1) % noncesKept
		d.nonces[d.nonceAt] = h.random() | 1 // never 0
		d.helloAt = now + helloSlow
		if !d.quiet {
			d.helloAt = now + helloFast
		}
		acts = append(acts, h.frame(wire.TypeHello, id, MAC{}, 0, wire.Hello{}))
	}
	for _, p := range h.peers {
		p.expire(now)
	}
	return acts
}

// expire forgets what was not heard of again.
func (p *hsPeer) expire(now Time) {
	p.sights = deleteIf(p.sights, func(s sight) bool { return now-s.at > sightedFor })
	p.pairs = deleteIf(p.pairs, func(q pair) bool { return !q.confirmed && now-q.since > pairingFor })
}

// Forget ends the association with a peer, as after it died of silence.
func (h *Handshake) Forget(key PeerKey) {
	if p := h.peers[key]; p != nil {
		p.made, p.pairs, p.pending = false, nil, 0
	}
}

// Receive takes a HELLO, HELLO_ACK, CONFIRM or RESET that came on a device.
func (h *Handshake) Receive(now Time, device int, from MAC, frame []byte, acts []Action) ([]Action, error) {
	var hd wire.Header
	body, err := wire.ParseHeader(frame, &hd)
	if err != nil {
		return acts, err
	}
	if hd.Flags&wire.FlagCRC == 0 || wire.Sum(frame[:wire.HeaderLen], body) != hd.CRC {
		return acts, errHandshakeCRC
	}
	if hd.Type == wire.TypeReset {
		return h.reset(now, device, from, body, acts)
	}
	var m wire.Hello
	if err := wire.ParseHello(body, &m); err != nil {
		return acts, err
	}
	if h.devices[device] == nil || m.Host == h.self.Host && m.Name == h.self.Name {
		return acts, nil // ourselves, by another of our ports
	}
	if text := h.mismatch(&m, from); text != "" {
		return h.tell(now, device, text, acts), nil
	}
	p := h.peer(PeerKey{m.Host, uint8(m.Index)})
	if p == nil {
		return acts, errTooManyPeers
	}
	switch hd.Type {
	case wire.TypeHello:
		return h.hello(now, p, device, from, &m, acts), nil
	case wire.TypeHelloAck:
		return h.helloAck(now, p, device, from, &m, acts), nil
	}
	return h.confirm(now, p, device, from, &m, acts), nil
}

// Errors of Receive beside those of package wire.
var (
	errHandshakeCRC = fmt.Errorf("handshake frame: %w", errCRC)
	errCRC          = fmt.Errorf("checksum is wrong or missing")
	errTooManyPeers = fmt.Errorf("handshake: more than %d peers", peersMost)
)

// mismatch says why there can be no association, or "".
func (h *Handshake) mismatch(m *wire.Hello, from MAC) string {
	switch {
	case m.Host == h.self.Host:
		return fmt.Sprintf("hosts %q and %q (%x) have the same UUID: set another one on one of them", h.self.Name, m.Name, from)
	case m.VersionLow > wire.Version || m.VersionHigh < wire.Version:
		return fmt.Sprintf("version-mismatch: %q speaks versions %d to %d, we speak %d: update the older one", m.Name, m.VersionLow, m.VersionHigh, wire.Version)
	case m.Service != h.self.Service:
		return fmt.Sprintf("service-mismatch: %q offers %v on endpoint %d, we offer %v", m.Name, m.Service, uint8(m.Index), h.self.Service)
	}
	return ""
}

// tell reports a mismatch, at most once a second each.
func (h *Handshake) tell(now Time, device int, text string, acts []Action) []Action {
	if at, ok := h.told[text]; ok && now-at < helloSlow || len(h.told) >= peersMost {
		return acts
	}
	h.told[text] = now
	return append(acts, Action{Kind: ActMismatch, Device: device, Text: text})
}

// peer gives the entry of a speaker; nil when there are too many.
func (h *Handshake) peer(key PeerKey) *hsPeer {
	if p := h.peers[key]; p != nil {
		return p
	}
	if len(h.peers) >= peersMost && !h.evict() {
		return nil
	}
	p := &hsPeer{key: key}
	h.peers[key] = p
	h.order = append(h.order, key)
	return p
}

// evict forgets the oldest speaker without an association.
func (h *Handshake) evict() bool {
	for i, key := range h.order {
		if p := h.peers[key]; !p.made && len(p.sights) == 0 {
			delete(h.peers, key)
			h.order = append(h.order[:i], h.order[i+1:]...)
			return true
		}
	}
	return false
}

// decides reports whether we choose the pairs.
func (h *Handshake) decides(p *hsPeer) bool {
	return bytes.Compare(h.self.Host[:], p.key.Host[:]) < 0
}

// hello answers a HELLO when the pair is, or becomes, a chosen one.
func (h *Handshake) hello(now Time, p *hsPeer, device int, from MAC, m *wire.Hello, acts []Action) []Action {
	if !h.decides(p) {
		return acts
	}
	p.see(now, device, from)
	q := h.choose(now, p, device, from)
	if q == nil {
		return acts
	}
	return append(acts, h.frame(wire.TypeHelloAck, device, from, m.Index, wire.Hello{
		Echo: m.Nonce, Index: h.indexFor(p, m), Rail: uint8(q.id), HasRail: true}))
}

// indexFor is our index in the association with a peer's epoch.
func (h *Handshake) indexFor(p *hsPeer, m *wire.Hello) uint32 {
	if p.made && p.hello.Epoch == m.Epoch {
		return p.index
	}
	if p.pending == 0 || p.pendingEpoch != m.Epoch {
		p.pending, p.pendingEpoch = h.newIndex(), m.Epoch
	}
	return p.pending
}

// newIndex draws an index that no association has.
func (h *Handshake) newIndex() uint32 {
	for {
		index := uint32(h.random())<<8 | uint32(h.self.Endpoint)
		if index>>8 != 0 && !h.usesIndex(index) {
			return index
		}
	}
}

func (h *Handshake) usesIndex(index uint32) bool {
	for _, p := range h.peers {
		if p.index == index || p.pending == index {
			return true
		}
	}
	return false
}

// see notes a sighting.
func (p *hsPeer) see(now Time, device int, mac MAC) {
	for i := range p.sights {
		if s := &p.sights[i]; s.device == device && s.mac == mac {
			s.at = now
			return
		}
	}
	if len(p.sights) < sightsMost {
		p.sights = append(p.sights, sight{device, mac, now})
	}
}

// choose gives the pair of a sighting, making it if both ends are free.
func (h *Handshake) choose(now Time, p *hsPeer, device int, mac MAC) *pair {
	for i := range p.pairs {
		q := &p.pairs[i]
		switch {
		case q.device == device && q.mac == mac:
			return q
		case q.device == device || q.mac == mac:
			return nil
		}
	}
	return p.newPair(now, device, mac)
}

// newPair adds a pair with the lowest free id; nil when all are taken.
func (p *hsPeer) newPair(now Time, device int, mac MAC) *pair {
	used := RailSet(0)
	for _, q := range p.pairs {
		used = used.With(q.id)
	}
	for id := range RailID(wire.RailsMax) {
		if !used.Has(id) {
			p.pairs = append(p.pairs, pair{device: device, mac: mac, id: id, since: now})
			return &p.pairs[len(p.pairs)-1]
		}
	}
	return nil
}

// helloAck takes the other host's choice and confirms it.
func (h *Handshake) helloAck(now Time, p *hsPeer, device int, from MAC, m *wire.Hello, acts []Action) []Action {
	if h.decides(p) || !m.HasRail || !h.fresh(device, m.Echo) {
		return acts
	}
	acts, q := h.accept(now, p, device, from, m, acts)
	if q == nil {
		return acts
	}
	return append(acts, h.frame(wire.TypeConfirm, device, from, m.Index, wire.Hello{
		Echo: m.Nonce, Index: p.index, Rail: uint8(q.id), HasRail: true}))
}

// confirm makes the rail that we have chosen.
func (h *Handshake) confirm(now Time, p *hsPeer, device int, from MAC, m *wire.Hello, acts []Action) []Action {
	if !h.decides(p) || !m.HasRail || !h.fresh(device, m.Echo) {
		return acts
	}
	acts, _ = h.accept(now, p, device, from, m, acts)
	return acts
}

// fresh reports whether a nonce is one of the device's last.
func (h *Handshake) fresh(device int, nonce uint64) bool {
	for _, n := range h.devices[device].nonces {
		if n == nonce && n != 0 {
			return true
		}
	}
	return false
}

// accept makes the association and the rail that an echo has proven, as far as
// they are not there.
func (h *Handshake) accept(now Time, p *hsPeer, device int, from MAC, m *wire.Hello, acts []Action) ([]Action, *pair) {
	same := p.made && p.hello.Epoch == m.Epoch && p.hello.Index == m.Index
	for i := range p.pairs {
		q := &p.pairs[i]
		if q.device == device && q.mac == from && q.confirmed && q.nonce == m.Echo {
			if same {
				return acts, q // a repetition
			}
			return acts, nil // this nonce has made its change
		}
	}
	if !same {
		p.index, p.pending = h.indexFor(p, m), 0
		p.made = true
		p.pairs = deleteIf(p.pairs, func(q pair) bool { return q.confirmed })
		acts = append(acts, Action{Kind: ActNewPeer, Peer: p.key, Hello: *m, Index: p.index})
	}
	p.hello = *m
	q := h.pairFor(now, p, device, from)
	if q == nil {
		return acts, nil
	}
	if !q.confirmed {
		acts = append(acts, Action{Kind: ActNewRail, Device: device, Peer: p.key, Hello: *m, Rail: q.id, MAC: from})
	}
	q.confirmed, q.nonce = true, m.Echo
	return acts, q
}

// pairFor is the pair of an accepted message; where the other host decides, an
// older pair of the device or the MAC gives way.
func (h *Handshake) pairFor(now Time, p *hsPeer, device int, from MAC) *pair {
	for i := range p.pairs {
		if q := &p.pairs[i]; q.device == device && q.mac == from {
			return q
		}
	}
	return p.newPair(now, device, from)
}

// Broken frees a pair whose rail was removed by the caller.
func (h *Handshake) Broken(key PeerKey, id RailID) {
	if p := h.peers[key]; p != nil {
		p.pairs = deleteIf(p.pairs, func(q pair) bool { return q.id == id })
	}
}

// reset takes a RESET: it counts if the index is the one in use towards the
// remote it comes from.
func (h *Handshake) reset(now Time, device int, from MAC, body []byte, acts []Action) ([]Action, error) {
	r, err := wire.ParseReset(body)
	if err != nil {
		return acts, err
	}
	for _, p := range h.peers {
		if !p.made || p.hello.Index != r.Index || !p.pairedAt(device, from) {
			continue
		}
		h.Forget(p.key)
		if d := h.devices[device]; d != nil {
			d.helloAt = now
		}
		return append(acts, Action{Kind: ActEndPeer, Peer: p.key}), nil
	}
	return acts, nil
}

func (p *hsPeer) pairedAt(device int, mac MAC) bool {
	for _, q := range p.pairs {
		if q.device == device && q.mac == mac && q.confirmed {
			return true
		}
	}
	return false
}

// Unknown answers a frame whose index no association has, within the limit.
// An index that a handshake under way will use is not unknown.
func (h *Handshake) Unknown(now Time, device int, from MAC, index uint32, acts []Action) []Action {
	d := h.devices[device]
	if d == nil || h.usesIndex(index) {
		return acts
	}
	if now-d.resetsAt >= resetWindow {
		d.resets, d.resetsAt = 0, now
	}
	if d.resets++; d.resets > resetsMost {
		return acts
	}
	return append(acts, resetFrame(device, from, index, wire.ResetUnknown))
}

// Leave gives the RESETs that tell a peer of the end of its association.
func (h *Handshake) Leave(key PeerKey, acts []Action) []Action {
	p := h.peers[key]
	if p == nil || !p.made {
		return acts
	}
	for _, q := range p.pairs {
		if q.confirmed {
			acts = append(acts, resetFrame(q.device, q.mac, p.index, wire.ResetClosing))
		}
	}
	return acts
}

func resetFrame(device int, to MAC, index uint32, reason uint8) Action {
	b := make([]byte, wire.HeaderLen, wire.HeaderLen+wire.ResetLen)
	b = wire.AppendReset(b, wire.Reset{Index: index, Reason: reason})
	hd := wire.Header{Type: wire.TypeReset, Length: wire.ResetLen}
	hd.Put(b)
	wire.Seal(b)
	return Action{Kind: ActSend, Device: device, To: to, Frame: b}
}

// frame makes a handshake frame: what is set in m, and all that we tell.
func (h *Handshake) frame(t wire.Type, device int, to MAC, index uint32, m wire.Hello) Action {
	d := h.devices[device]
	m.Nonce = d.nonces[d.nonceAt]
	m.Host, m.Name, m.Epoch, m.Service = h.self.Host, h.self.Name, h.self.Epoch, h.self.Service
	m.VersionLow, m.VersionHigh = wire.Version, wire.Version
	m.MTU, m.Rate, m.Group = uint32(d.facts.MTU), d.facts.Rate, d.facts.Group
	m.Caps, m.Slots = h.self.Caps, h.self.Slots
	if d.facts.TrustLink {
		m.Caps &^= wire.CapCRC
	}
	if m.Index == 0 {
		m.Index = 1<<8 | uint32(h.self.Endpoint) // only the endpoint counts in HELLO
	}
	b := wire.AppendHello(make([]byte, wire.HeaderLen, 256), &m)
	hd := wire.Header{Type: t, Length: uint16(len(b) - wire.HeaderLen), Index: index}
	hd.Put(b)
	wire.Seal(b)
	return Action{Kind: ActSend, Device: device, To: to, Frame: b}
}

// deleteIf removes elements in place.
func deleteIf[T any](s []T, f func(T) bool) []T {
	out := s[:0]
	for _, v := range s {
		if !f(v) {
			out = append(out, v)
		}
	}
	return out
}
