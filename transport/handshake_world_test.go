// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tbnet2/tbnet2/wire"
)

// greetWorld is hosts on cables and switches, in virtual time. Besides the
// handshake it knows PINGs: every 100 ms each made rail is heard by the other
// end if that has the same rail, and an unknown index is answered by a RESET.
type greetWorld struct {
	t        testing.TB
	now      Time
	rng      *rand.Rand
	hosts    []*greetHost
	segments []*segment
	flying   []flyingFrame
	seq      int  // keeps order among frames of one time
	pingAt   Time // when rails say PING next

	loss, duplicate int // per 100
	jitter          Time
	// lose, if set, drops what it picks.
	lose func(from, to greetPort, frame []byte) bool
	// seen, if set, is told of every frame that is sent.
	seen func(from greetPort, f HandshakeFrame)
}

// greetPort is a device of a host.
type greetPort struct {
	host   int
	device DeviceID
}

// segment is a cable, or a switch.
type segment struct {
	ports  []greetPort
	broken bool
	deaf   map[greetPort]bool // nothing reaches this port
}

type flyingFrame struct {
	at       Time
	seq      int
	from, to greetPort
	data     []byte
}

type greetHost struct {
	cfg     HandshakeConfig
	h       *Handshake
	starts  int
	devices []Attachment
	peers   map[PeerID]*greetPeer
	notices []Notice
	gone    []GoneReason
}

// greetPeer is what a caller keeps of the changes.
type greetPeer struct {
	info  AssociationInfo
	rails map[RailID]RailInfo
	heard map[RailID]bool
}

func newGreetWorld(t testing.TB, seed uint64) *greetWorld {
	return &greetWorld{t: t, rng: rand.New(rand.NewPCG(seed, 7)), now: Second}
}

func greetMAC(host, device int) [6]byte { return [6]byte{2, 0, 0, 0, byte(host), byte(device)} }

// host adds a host; its UUID follows its number, so the lower decides.
func (w *greetWorld) host(name string, change func(*HandshakeConfig)) *greetHost {
	i := len(w.hosts)
	g := &greetHost{cfg: HandshakeConfig{Host: [16]byte{15: byte(i + 1)}, Name: name, Endpoint: 1,
		Service: wire.ServiceEthernet, Caps: wire.CapRetransmit | wire.CapOffload}}
	if change != nil {
		change(&g.cfg)
	}
	w.hosts = append(w.hosts, g)
	w.start(i)
	return g
}

// start begins a new epoch of a host.
func (w *greetWorld) start(i int) {
	g := w.hosts[i]
	g.starts++
	g.cfg.Epoch = w.rng.Uint64()
	g.cfg.Random = w.rng.Uint64
	g.h = NewHandshake(g.cfg, w.now)
	g.peers = map[PeerID]*greetPeer{}
	for id, a := range g.devices {
		if err := g.h.AddDevice(w.now, DeviceID(id), a); err != nil {
			w.t.Fatal(err)
		}
	}
}

// join puts a new device of every given host on one segment.
func (w *greetWorld) join(hosts ...int) *segment {
	s := &segment{deaf: map[greetPort]bool{}}
	for _, i := range hosts {
		w.plug(s, i)
	}
	w.segments = append(w.segments, s)
	return s
}

func (w *greetWorld) plug(s *segment, host int) {
	g := w.hosts[host]
	id := len(g.devices)
	g.devices = append(g.devices, Attachment{Name: g.cfg.Name + string(rune('0'+id)), MAC: greetMAC(host, id), MTU: 9000,
		Rate: 1e9, Group: uint64(id), Carrier: true})
	s.ports = append(s.ports, greetPort{host, DeviceID(id)})
	if err := g.h.AddDevice(w.now, DeviceID(id), g.devices[id]); err != nil {
		w.t.Fatal(err)
	}
}

// carrier gives or takes the carrier of all ports of a segment.
func (w *greetWorld) carrier(s *segment, up bool) {
	s.broken = !up
	for _, p := range s.ports {
		g := w.hosts[p.host]
		g.devices[p.device].Carrier = up
		g.h.SetDevice(w.now, p.device, g.devices[p.device])
	}
}

// run lets time pass.
func (w *greetWorld) run(span Time) {
	end := w.now + span
	for {
		for i := range w.hosts {
			w.settle(i)
		}
		slices.SortFunc(w.flying, func(a, b flyingFrame) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.seq, b.seq)) })
		next := min(end, w.pingAt)
		for _, g := range w.hosts {
			next = min(next, g.h.Deadline())
		}
		if len(w.flying) > 0 {
			next = min(next, w.flying[0].at)
		}
		w.now = max(w.now, next)
		if w.now >= end {
			return
		}
		switch {
		case len(w.flying) > 0 && w.flying[0].at <= w.now:
			f := w.flying[0]
			w.flying = w.flying[1:]
			w.hosts[f.to.host].h.Receive(w.now, f.to.device, greetMAC(f.from.host, int(f.from.device)), f.data)
		case w.pingAt <= w.now:
			w.pingAt = w.now + 100*Millisecond
			w.pings()
		default:
			for _, g := range w.hosts {
				g.h.Tick(w.now)
			}
		}
	}
}

// settle takes what a host's handshake wants done.
func (w *greetWorld) settle(i int) {
	g := w.hosts[i]
	var o HandshakeOutput
	g.h.Take(&o)
	for _, c := range o.Changes {
		g.follow(w.t, &c)
	}
	for _, f := range o.Frames {
		w.send(greetPort{i, f.Device}, f)
	}
}

// follow does what a caller does, and checks that the changes make sense.
func (g *greetHost) follow(t testing.TB, c *HandshakeChange) {
	p := g.peers[c.Peer]
	if c.Kind != ChangePeerMade && c.Kind != ChangeNotice && p == nil {
		t.Fatalf("%s: %v of a peer that is not there", g.cfg.Name, c.Kind)
	}
	switch c.Kind {
	case ChangePeerMade:
		if p != nil {
			t.Fatalf("%s: peer made twice", g.cfg.Name)
		}
		g.peers[c.Peer] = &greetPeer{c.Association, map[RailID]RailInfo{}, map[RailID]bool{}}
	case ChangePeerGone:
		delete(g.peers, c.Peer)
		g.gone = append(g.gone, c.Reason)
	case ChangeRailMade:
		for id, r := range p.rails {
			if id == c.Rail.ID || r.Device == c.Rail.Device || r.PeerID == c.Rail.PeerID {
				t.Fatalf("%s: rail %+v made beside %+v", g.cfg.Name, c.Rail, r)
			}
		}
		p.rails[c.Rail.ID] = c.Rail
	case ChangeRailInfo:
		p.rails[c.Rail.ID] = c.Rail
	case ChangeRailGone:
		if _, ok := p.rails[c.Rail.ID]; !ok {
			t.Fatalf("%s: a rail is gone that was not there", g.cfg.Name)
		}
		delete(p.rails, c.Rail.ID)
		delete(p.heard, c.Rail.ID)
	case ChangeNotice:
		g.notices = append(g.notices, c.Notice)
	}
}

// send puts a frame on the segments of a port.
func (w *greetWorld) send(from greetPort, f HandshakeFrame) {
	if w.seen != nil {
		w.seen(from, f)
	}
	w.reach(from, f.To, func(to greetPort) {
		if w.lose != nil && w.lose(from, to, f.Data) || w.rng.IntN(100) < w.loss {
			return
		}
		w.fly(from, to, f.Data)
		if w.rng.IntN(100) < w.duplicate {
			w.fly(from, to, f.Data)
		}
	})
}

func (w *greetWorld) fly(from, to greetPort, data []byte) {
	at := w.now + 10*Microsecond
	if w.jitter > 0 {
		at += Time(w.rng.Int64N(int64(w.jitter)))
	}
	w.seq++
	w.flying = append(w.flying, flyingFrame{at, w.seq, from, to, slices.Clone(data)})
}

// reach calls f for the ports that a frame to a MAC gets to.
func (w *greetWorld) reach(from greetPort, mac [6]byte, f func(greetPort)) {
	for _, s := range w.segments {
		if s.broken || !slices.Contains(s.ports, from) {
			continue
		}
		for _, to := range s.ports {
			if to != from && !s.deaf[to] && (mac == wire.HelloMAC || mac == greetMAC(to.host, int(to.device))) {
				f(to)
			}
		}
	}
}

// pings has every made rail say PING.
func (w *greetWorld) pings() {
	heard := map[greetPort]map[PeerID]map[RailID]bool{}
	for i, g := range w.hosts {
		for id, p := range g.peers {
			for _, r := range p.rails {
				from := greetPort{i, r.Device}
				w.reach(from, r.MAC, func(to greetPort) { w.ping(g, id, p, r, from, to, heard) })
			}
		}
	}
	for i, g := range w.hosts {
		for id, p := range g.peers {
			for n, r := range p.rails {
				ok := heard[greetPort{i, r.Device}][id][n]
				p.heard[n] = ok
				g.h.Heard(w.now, id, n, ok)
			}
		}
	}
}

func (w *greetWorld) ping(g *greetHost, of PeerID, p *greetPeer, r RailInfo, from, to greetPort, heard map[greetPort]map[PeerID]map[RailID]bool) {
	o := w.hosts[to.host]
	me := PeerID{g.cfg.Host, g.cfg.Endpoint}
	other := o.peers[me]
	if other == nil || other.info.LocalIndex != p.info.PeerIndex {
		if of == (PeerID{o.cfg.Host, o.cfg.Endpoint}) {
			o.h.UnknownIndex(w.now, to.device, greetMAC(from.host, int(from.device)), p.info.PeerIndex)
		}
		return
	}
	for n, or := range other.rails {
		if or.Device == to.device && or.MAC == greetMAC(from.host, int(from.device)) && or.ID == r.PeerID && or.PeerID == r.ID {
			if heard[to] == nil {
				heard[to] = map[PeerID]map[RailID]bool{}
			}
			if heard[to][me] == nil {
				heard[to][me] = map[RailID]bool{}
			}
			heard[to][me][n] = true
		}
	}
}

// rails counts the rails of host i to host j on which j is heard.
func (w *greetWorld) rails(i, j int) int {
	p := w.hosts[i].peers[PeerID{w.hosts[j].cfg.Host, w.hosts[j].cfg.Endpoint}]
	n := 0
	if p != nil {
		for id := range p.rails {
			if p.heard[id] {
				n++
			}
		}
	}
	return n
}

// want runs until two hosts have n live rails both ways, at most so long.
func (w *greetWorld) want(i, j, n int, within Time) {
	w.t.Helper()
	for end := w.now + within; w.now < end; w.run(10 * Millisecond) {
		if w.rails(i, j) == n && w.rails(j, i) == n {
			return
		}
	}
	w.t.Fatalf("after %d ms %s has %d rails to %s and %d back, want %d; drops %v %v", within/Millisecond, w.hosts[i].cfg.Name,
		w.rails(i, j), w.hosts[j].cfg.Name, w.rails(j, i), n, w.hosts[i].h.Drops(), w.hosts[j].h.Drops())
}

// agree checks that both ends tell the same of their association.
func (w *greetWorld) agree(i, j int) {
	w.t.Helper()
	a := w.hosts[i].peers[PeerID{w.hosts[j].cfg.Host, w.hosts[j].cfg.Endpoint}]
	b := w.hosts[j].peers[PeerID{w.hosts[i].cfg.Host, w.hosts[i].cfg.Endpoint}]
	if a == nil || b == nil {
		w.t.Fatalf("no association: %v %v", a, b)
	}
	if a.info.LocalIndex != b.info.PeerIndex || b.info.LocalIndex != a.info.PeerIndex {
		w.t.Errorf("indices: %+v and %+v", a.info, b.info)
	}
	if len(a.rails) != len(b.rails) {
		w.t.Errorf("%d rails here, %d there", len(a.rails), len(b.rails))
	}
	for id, r := range a.rails {
		o, ok := b.rails[r.PeerID]
		if !ok || o.PeerID != id || o.MAC != greetMAC(i, int(r.Device)) || r.MAC != greetMAC(j, int(o.Device)) {
			w.t.Errorf("rail %+v has no counterpart: %+v", r, o)
		}
	}
}
