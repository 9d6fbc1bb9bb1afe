// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tbnet2/tbnet2/wire"
)

// typeOf is the type of a frame.
func typeOf(frame []byte) wire.Type { return wire.Type(frame[0] & 0x0f) }

// TestHandshakeTopologies: rails form however cables run, each device once per
// other host, the same at both ends.
func TestHandshakeTopologies(t *testing.T) {
	for _, tt := range []struct {
		name  string
		hosts int
		wires [][]int // segments, by host
		want  [][3]int
	}{
		{"one cable", 2, [][]int{{0, 1}}, [][3]int{{0, 1, 1}}},
		{"four cables", 2, [][]int{{0, 1}, {0, 1}, {0, 1}, {0, 1}}, [][3]int{{0, 1, 4}}},
		{"two hosts, two ports each on a switch", 2, [][]int{{0, 0, 1, 1}}, [][3]int{{0, 1, 2}}},
		{"three ports against two", 2, [][]int{{0, 0, 0, 1, 1}}, [][3]int{{0, 1, 2}}},
		{"three hosts, one port each", 3, [][]int{{0, 1, 2}}, [][3]int{{0, 1, 1}, {0, 2, 1}, {1, 2, 1}}},
		{"three hosts, two ports each", 3, [][]int{{0, 0, 1, 1, 2, 2}}, [][3]int{{0, 1, 2}, {0, 2, 2}, {1, 2, 2}}},
		{"a ring of three", 3, [][]int{{0, 1}, {1, 2}, {2, 0}}, [][3]int{{0, 1, 1}, {1, 2, 1}, {0, 2, 1}}},
		{"a cable and a switch", 2, [][]int{{0, 1}, {0, 1, 1}}, [][3]int{{0, 1, 2}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newGreetWorld(t, 1)
			for i := range tt.hosts {
				w.host(fmt.Sprint("host", i), nil)
			}
			for _, hosts := range tt.wires {
				w.join(hosts...)
			}
			for _, p := range tt.want {
				w.want(p[0], p[1], p[2], Second)
			}
			w.run(5 * Second)
			for _, p := range tt.want {
				w.want(p[0], p[1], p[2], Second)
				w.agree(p[0], p[1])
			}
			for _, g := range w.hosts {
				if len(g.gone) != 0 {
					t.Errorf("%s: associations ended: %v", g.cfg.Name, g.gone)
				}
				if d := g.h.Drops(); d[HandshakeStale]+d[HandshakeMalformed]+d[HandshakeCRC] != 0 {
					t.Errorf("%s: drops %v", g.cfg.Name, d)
				}
			}
		})
	}
}

// TestHandshakeSegmentOfOneHost: a host that hears itself takes no notice.
func TestHandshakeSegmentOfOneHost(t *testing.T) {
	w := newGreetWorld(t, 1)
	g := w.host("a", nil)
	w.join(0, 0)
	w.run(5 * Second)
	if len(g.peers) != 0 || len(g.notices) != 0 || g.h.Drops()[HandshakeOwn] == 0 {
		t.Errorf("peers %v, notices %v, drops %v", g.peers, g.notices, g.h.Drops())
	}
}

// twoHosts gives two hosts joined by n cables, with their rails.
func twoHosts(t *testing.T, n int) *greetWorld {
	w := newGreetWorld(t, 1)
	w.host("a", nil)
	w.host("b", nil)
	for range n {
		w.join(0, 1)
	}
	w.want(0, 1, n, Second)
	return w
}

// TestHandshakePace: HELLO comes every 100 ms while a rail is missing, else
// every second.
func TestHandshakePace(t *testing.T) {
	w := twoHosts(t, 1)
	w.run(2 * Second)
	count := func() int {
		n := 0
		w.seen = func(_ greetPort, f HandshakeFrame) {
			if typeOf(f.Data) == wire.TypeHello {
				n++
			}
		}
		w.run(10 * Second)
		return n
	}
	if n := count(); n < 18 || n > 22 {
		t.Errorf("%d HELLOs of two hosts in 10 s with all rails, want 20", n)
	}
	w.segments[0].broken = true
	w.run(Second)
	if n := count(); n < 180 || n > 220 {
		t.Errorf("%d HELLOs of two hosts in 10 s without rails, want 200", n)
	}
}

// TestHandshakeLostFrames: each kind of frame may be lost once.
func TestHandshakeLostFrames(t *testing.T) {
	for _, kind := range []wire.Type{wire.TypeHello, wire.TypeHelloAck, wire.TypeConfirm} {
		t.Run(kind.String(), func(t *testing.T) {
			w := newGreetWorld(t, 1)
			w.host("a", nil)
			w.host("b", nil)
			lost := 0
			w.lose = func(_, _ greetPort, frame []byte) bool {
				if typeOf(frame) != kind || lost == 2 {
					return false
				}
				lost++
				return true
			}
			w.join(0, 1)
			w.want(0, 1, 1, Second)
			w.agree(0, 1)
			if lost == 0 {
				t.Error("nothing was lost")
			}
		})
	}
}

// TestHandshakeOneWay: a link that passes frames in one direction makes no
// rail, and one that works beside it is used.
func TestHandshakeOneWay(t *testing.T) {
	for deaf := range 2 {
		t.Run(fmt.Sprint("host ", deaf, " deaf"), func(t *testing.T) {
			w := newGreetWorld(t, 1)
			w.host("a", nil)
			w.host("b", nil)
			s := w.join(0, 1)
			s.deaf[s.ports[deaf]] = true
			w.run(5 * Second)
			if w.rails(0, 1)+w.rails(1, 0) != 0 {
				t.Fatal("a rail over a one-way link")
			}
			s.deaf = map[greetPort]bool{}
			w.want(0, 1, 1, Second)
			w.agree(0, 1)
		})
	}
	t.Run("another port hears", func(t *testing.T) {
		w := newGreetWorld(t, 1)
		w.host("a", nil)
		w.host("b", nil)
		s := w.join(0, 1, 1)
		s.deaf[s.ports[1]] = true // b's first port, which a would choose
		w.want(0, 1, 1, 8*Second)
		w.agree(0, 1)
	})
}

// TestHandshakeRestart: a restarted host is back at once, with all rails, in a
// new association.
func TestHandshakeRestart(t *testing.T) {
	for host := range 2 {
		w := twoHosts(t, 4)
		for i := range 100 {
			w.run(Time(w.rng.IntN(2000)) * Millisecond)
			w.start(host)
			w.run(10 * Millisecond)
			w.want(0, 1, 4, Second)
			w.agree(0, 1)
			if n := len(w.hosts[1-host].gone); n != i+1 {
				t.Fatalf("host %d, restart %d: %d associations ended on the other host", host, i, n)
			}
		}
	}
}

// TestHandshakeRailAnew: a device that is removed and comes back is a new rail
// of the same association.
func TestHandshakeRailAnew(t *testing.T) {
	for host := range 2 {
		w := twoHosts(t, 2)
		g := w.hosts[host]
		for range 70 { // more often than there are ids
			g.h.RemoveDevice(w.now, 0)
			w.run(500 * Millisecond)
			if n := w.rails(0, 1); n != 1 {
				t.Fatalf("host %d: %d rails without one device", host, n)
			}
			if err := g.h.AddDevice(w.now, 0, g.devices[0]); err != nil {
				t.Fatal(err)
			}
			w.run(10 * Millisecond)
			w.want(0, 1, 2, Second)
			w.agree(0, 1)
		}
		if len(w.hosts[0].gone)+len(w.hosts[1].gone) != 0 {
			t.Errorf("associations ended: %v %v", w.hosts[0].gone, w.hosts[1].gone)
		}
	}
}

// TestHandshakeRecabled: cables that change places while the hosts run make
// the rails that are there now.
func TestHandshakeRecabled(t *testing.T) {
	for _, carrier := range []bool{true, false} {
		w := twoHosts(t, 2)
		s0, s1 := w.segments[0], w.segments[1]
		if carrier {
			w.carrier(s0, false)
			w.carrier(s1, false)
			w.run(50 * Millisecond)
		}
		s0.ports[1], s1.ports[1] = s1.ports[1], s0.ports[1]
		limit := 5 * Second // nothing tells: what was seen before must be forgotten
		if carrier {
			w.carrier(s0, true)
			w.carrier(s1, true)
			limit = Second
		}
		w.run(200 * Millisecond)
		w.want(0, 1, 2, limit)
		w.agree(0, 1)
	}
}

// TestHandshakeCarrierKeepsRails: losing the carrier ends no rail.
func TestHandshakeCarrierKeepsRails(t *testing.T) {
	w := twoHosts(t, 2)
	before := *w.hosts[0].peers[PeerID{w.hosts[1].cfg.Host, 1}]
	w.carrier(w.segments[0], false)
	w.run(20 * Second)
	w.carrier(w.segments[0], true)
	w.want(0, 1, 2, Second)
	after := w.hosts[0].peers[PeerID{w.hosts[1].cfg.Host, 1}]
	if after.info != before.info || after.rails[0] != before.rails[0] {
		t.Errorf("the association or the rail is another: %+v, was %+v", after, before)
	}
}

// TestHandshakeLateHello: frames of an old epoch have no effect once a new
// one is there.
func TestHandshakeLateHello(t *testing.T) {
	for host := range 2 {
		w := twoHosts(t, 2)
		var old []flyingFrame
		w.seen = func(from greetPort, f HandshakeFrame) {
			if from.host == host {
				old = append(old, flyingFrame{from: from, to: greetPort{1 - host, f.Device}, data: slices.Clone(f.Data)})
			}
		}
		w.run(1500 * Millisecond)
		w.seen = nil
		w.start(host)
		w.run(10 * Millisecond)
		w.want(0, 1, 2, Second)
		other := w.hosts[1-host]
		gone, before := len(other.gone), other.h.Drops()
		if len(old) == 0 {
			t.Fatal("nothing to replay")
		}
		for _, f := range old {
			other.h.Receive(w.now, f.to.device, greetMAC(f.from.host, int(f.from.device)), f.data)
		}
		w.settle(1 - host)
		if drops := other.h.Drops(); len(other.gone) != gone || drops[HandshakeOldEpoch] != before[HandshakeOldEpoch]+uint64(len(old)) {
			t.Errorf("%d old frames: %v ended, drops %v", len(old), other.gone[gone:], drops)
		}
		w.run(100 * Millisecond)
		w.want(0, 1, 2, 100*Millisecond)
	}
}

// TestHandshakeReplay: a frame that has made a change makes no other.
func TestHandshakeReplay(t *testing.T) {
	for _, kind := range []wire.Type{wire.TypeHelloAck, wire.TypeConfirm} {
		t.Run(kind.String(), func(t *testing.T) {
			w := newGreetWorld(t, 1)
			w.host("a", nil)
			w.host("b", nil)
			var frame []byte
			w.seen = func(_ greetPort, f HandshakeFrame) {
				if frame == nil && typeOf(f.Data) == kind {
					frame = slices.Clone(f.Data)
				}
			}
			w.join(0, 1)
			w.want(0, 1, 1, Second)
			to := map[wire.Type]int{wire.TypeHelloAck: 1, wire.TypeConfirm: 0}[kind]
			g := w.hosts[to]
			g.h.Forget(w.now, PeerID{w.hosts[1-to].cfg.Host, 1})
			w.settle(to)
			g.h.Receive(w.now, 0, greetMAC(1-to, 0), frame)
			w.settle(to)
			if len(g.peers) != 0 {
				t.Error("a replayed frame has made an association")
			}
			w.want(0, 1, 1, Second)
			w.agree(0, 1)
		})
	}
}

// TestHandshakeReset: a RESET counts only with the index in use, from the
// remote that it is used with.
func TestHandshakeReset(t *testing.T) {
	w := twoHosts(t, 1)
	g := w.hosts[0]
	id := PeerID{w.hosts[1].cfg.Host, 1}
	index := g.peers[id].info.PeerIndex
	reset := func(index uint32) []byte {
		b := wire.AppendReset(make([]byte, wire.HeaderLen), wire.Reset{Index: index, Reason: wire.ResetUnknown})
		hd := wire.Header{Type: wire.TypeReset, Length: wire.ResetLen}
		hd.Put(b)
		wire.Seal(b)
		return b
	}
	for _, tt := range []struct {
		name  string
		from  [6]byte
		index uint32
		ends  bool
	}{
		{"another index", greetMAC(1, 0), index ^ 1<<8, false},
		{"another remote", greetMAC(5, 5), index, false},
		{"both right", greetMAC(1, 0), index, true},
	} {
		g.h.Receive(w.now, 0, tt.from, reset(tt.index))
		w.settle(0)
		if ended := g.peers[id] == nil; ended != tt.ends {
			t.Errorf("%s: ended %v, want %v", tt.name, ended, tt.ends)
		}
	}
	w.want(0, 1, 1, Second)
	w.agree(0, 1)
}

// TestHandshakeResetRate: unknown indices are answered ten times a second and
// device, those of other endpoints never.
func TestHandshakeResetRate(t *testing.T) {
	w := twoHosts(t, 1)
	resets := 0
	w.seen = func(_ greetPort, f HandshakeFrame) {
		if typeOf(f.Data) == wire.TypeReset {
			resets++
		}
	}
	for range 5000 {
		w.hosts[0].h.UnknownIndex(w.now, 0, greetMAC(1, 0), 0x12345601)
		w.hosts[0].h.UnknownIndex(w.now, 0, greetMAC(1, 0), 0x12345602)
		w.run(Millisecond)
	}
	if resets < 50 || resets > 61 {
		t.Errorf("%d RESETs in 5 s, want 10 a second", resets)
	}
}

// TestHandshakeClose: the peer of a closed association is told.
func TestHandshakeClose(t *testing.T) {
	w := twoHosts(t, 2)
	w.hosts[1].h.Close(w.now)
	w.run(10 * Millisecond)
	if got := w.hosts[0].gone; len(got) != 1 || got[0] != GoneClosed {
		t.Errorf("ended for %v, want closed_by_peer", got)
	}
}

// TestHandshakeForgotten: an association that one end has given up is made
// anew, whichever end it is.
func TestHandshakeForgotten(t *testing.T) {
	for host := range 2 {
		w := twoHosts(t, 2)
		w.lose = func(_, _ greetPort, frame []byte) bool { return typeOf(frame) == wire.TypeReset }
		w.hosts[host].h.Forget(w.now, PeerID{w.hosts[1-host].cfg.Host, 1})
		w.run(10 * Millisecond)
		w.lose = nil
		w.run(10 * Millisecond)
		w.want(0, 1, 2, Second)
		w.agree(0, 1)
	}
}

// TestHandshakeMismatch: what keeps two hosts apart is told on both, by name.
func TestHandshakeMismatch(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*HandshakeConfig)
		kind   NoticeKind
		words  []string
	}{
		{"service", func(c *HandshakeConfig) { c.Service = wire.ServiceVerbs }, NoticeService, []string{"alice", "bob", "verbs", "ethernet"}},
		{"uuid", func(c *HandshakeConfig) { c.Host = [16]byte{15: 1} }, NoticeConflict, []string{"alice", "bob", "UUID"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newGreetWorld(t, 1)
			w.host("alice", nil)
			w.host("bob", tt.change)
			w.join(0, 1)
			w.run(5 * Second)
			for _, g := range w.hosts {
				if len(g.peers) != 0 || len(g.notices) != 1 || g.notices[0].Kind != tt.kind {
					t.Fatalf("%s: peers %v, notices %+v", g.cfg.Name, g.peers, g.notices)
				}
				for _, word := range tt.words {
					if !strings.Contains(g.notices[0].Text, word) {
						t.Errorf("%s: %q does not say %q", g.cfg.Name, g.notices[0].Text, word)
					}
				}
				if len(g.h.Notices()) != 1 {
					t.Errorf("%s: %d notices hold", g.cfg.Name, len(g.h.Notices()))
				}
			}
			w.segments[0].broken = true
			w.run(15 * Second)
			if n := len(w.hosts[0].h.Notices()); n != 0 {
				t.Errorf("%d notices hold after the other has left", n)
			}
		})
	}
}

// TestHandshakeOtherVersion: a HELLO of a version to come is named, as far as
// it can be read.
func TestHandshakeOtherVersion(t *testing.T) {
	w := newGreetWorld(t, 1)
	g := w.host("alice", nil)
	w.join(0)
	m := wire.Hello{Nonce: 1, Host: [16]byte{9}, Epoch: 1, Index: 0x101, Service: wire.ServiceEthernet,
		VersionLow: 2, VersionHigh: 3, MTU: 1500, Name: "carol", Slots: 64}
	for _, version := range []byte{1, 2} {
		b := wire.AppendHello(make([]byte, wire.HeaderLen), &m)
		hd := wire.Header{Type: wire.TypeHello, Length: uint16(len(b) - wire.HeaderLen)}
		hd.Put(b)
		b[0] = version<<4 | byte(wire.TypeHello)
		g.h.Receive(w.now, 0, greetMAC(7, int(version)), b)
		w.settle(0)
		if len(g.notices) != int(version) || !strings.Contains(g.notices[version-1].Text, "carol") || g.notices[version-1].Kind != NoticeVersion {
			t.Fatalf("header version %d: %+v", version, g.notices)
		}
	}
}

// TestHandshakeServices: endpoints of several services on one host are no
// mismatch as long as one of them serves us.
func TestHandshakeServices(t *testing.T) {
	w := newGreetWorld(t, 1)
	w.host("a", nil)
	w.host("b", nil)
	w.host("b", func(c *HandshakeConfig) {
		c.Host, c.Endpoint, c.Service = w.hosts[1].cfg.Host, 2, wire.ServiceVerbs
	})
	w.join(0, 1, 2)
	w.want(0, 1, 1, Second)
	w.run(5 * Second)
	if n := w.hosts[0].notices; len(n) != 0 {
		t.Errorf("notices %+v", n)
	}
}

// TestHandshakeTwoPeersOneUUID: a third host names two machines that have one
// UUID, and keeps to the newer.
func TestHandshakeTwoPeersOneUUID(t *testing.T) {
	w := newGreetWorld(t, 1)
	w.host("a", nil)
	w.host("b", nil)
	w.host("c", func(c *HandshakeConfig) { c.Host = w.hosts[1].cfg.Host })
	w.join(0, 1)
	w.join(0, 2)
	w.run(20 * Second)
	if n := w.hosts[0].gone; len(n) > 1 {
		t.Errorf("associations go and come: %v", n)
	}
	n := w.hosts[0].h.Notices()
	if len(n) != 1 || n[0].Kind != NoticeConflict || !strings.Contains(n[0].Text, "b") || !strings.Contains(n[0].Text, "c") {
		t.Errorf("notices %+v", n)
	}
}

// TestHandshakeInfo: both ends know the smaller MTU and rate, and whether
// frames need a CRC; a change is told.
func TestHandshakeInfo(t *testing.T) {
	w := newGreetWorld(t, 1)
	w.host("a", nil)
	w.host("b", func(c *HandshakeConfig) { c.Caps = 0 })
	w.join(0, 1)
	g := w.hosts[1]
	g.devices[0].MTU, g.devices[0].Rate, g.devices[0].CRC = 4096, 5e8, true
	g.h.SetDevice(w.now, 0, g.devices[0])
	w.want(0, 1, 1, Second)
	check := func(mtu int) {
		t.Helper()
		a := w.hosts[0].peers[PeerID{g.cfg.Host, 1}]
		b := g.peers[PeerID{w.hosts[0].cfg.Host, 1}]
		for _, p := range []*greetPeer{a, b} {
			r := p.rails[0]
			if r.MTU != mtu || r.Rate != 5e8 || p.info.Retransmit {
				t.Errorf("rail %+v, association %+v", r, p.info)
			}
		}
		if a.rails[0].NoCRC || !b.rails[0].NoCRC || a.info.Offload || !b.info.Offload || a.rails[0].PeerMTU != mtu {
			t.Errorf("a %+v %+v, b %+v %+v", a.info, a.rails[0], b.info, b.rails[0])
		}
	}
	check(4096)
	g.devices[0].MTU = 1500
	g.h.SetDevice(w.now, 0, g.devices[0])
	w.run(2 * Second)
	a := w.hosts[0].peers[PeerID{g.cfg.Host, 1}]
	if a.rails[0].MTU != 1500 {
		t.Errorf("the MTU is %d after a change to 1500", a.rails[0].MTU)
	}
}

// TestHandshakeBounds: strangers cannot fill the tables for good, nor have us
// answer without end.
func TestHandshakeBounds(t *testing.T) {
	w := newGreetWorld(t, 1)
	g := w.host("a", nil)
	w.join(0)
	sent := 0
	w.seen = func(_ greetPort, f HandshakeFrame) {
		if typeOf(f.Data) == wire.TypeHelloAck {
			sent++
		}
	}
	for i := range 20000 {
		m := wire.Hello{Nonce: uint64(i), Host: [16]byte{0: 1, 1: byte(i), 2: byte(i >> 8)}, Epoch: uint64(i), Index: 0x101,
			Service: wire.ServiceEthernet, VersionLow: 1, VersionHigh: 1, MTU: 1500, Slots: 64, Group: uint64(i)}
		b := wire.AppendHello(make([]byte, wire.HeaderLen), &m)
		hd := wire.Header{Type: wire.TypeHello, Length: uint16(len(b) - wire.HeaderLen)}
		hd.Put(b)
		g.h.Receive(w.now, 0, [6]byte{2, 9, byte(i), byte(i >> 8), 0, 0}, b)
		if i%20 == 0 {
			w.run(Millisecond)
		}
	}
	if len(g.h.peers) > peersMost || g.h.Drops()[HandshakeFull] == 0 || sent > 1000+2*answersBurst {
		t.Errorf("%d peers, %d answers in a second, drops %v", len(g.h.peers), sent, g.h.Drops())
	}
	w.host("b", nil)
	w.plug(w.segments[0], 1)
	w.run(10 * Second)
	w.want(0, 1, 1, Second)
}

// TestMatchPairs: as many pairs as can be, and what is held stays.
func TestMatchPairs(t *testing.T) {
	p := func(device, mac int, flags string) pair {
		return pair{DeviceID(device), remote{mac: greetMAC(0, mac)}, strings.Contains(flags, "h"), strings.Contains(flags, "d")}
	}
	for _, tt := range []struct {
		name  string
		pairs []pair
		want  []bool
	}{
		{"none", nil, []bool{}},
		{"in order", []pair{p(0, 0, ""), p(0, 1, ""), p(1, 0, ""), p(1, 1, "")}, []bool{true, false, false, true}},
		{"held stays", []pair{p(0, 0, ""), p(0, 1, "h"), p(1, 0, ""), p(1, 1, "")}, []bool{false, true, true, false}},
		{"held moves for one more", []pair{p(0, 0, "h"), p(0, 1, ""), p(1, 0, "")}, []bool{false, true, true}},
		{"held alone stays", []pair{p(0, 0, "h"), p(1, 0, "")}, []bool{true, false}},
		{"doubtful gives way", []pair{p(0, 0, "d"), p(0, 1, "")}, []bool{false, true}},
		{"doubtful is better than none", []pair{p(0, 0, "d")}, []bool{true}},
		{"a chain", []pair{p(0, 0, ""), p(0, 1, ""), p(1, 0, ""), p(1, 2, ""), p(2, 0, "")}, []bool{false, true, false, true, true}},
	} {
		if got := matchPairs(tt.pairs); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestHandshakeStorms: whatever is lost, doubled, delayed, restarted and
// unplugged, all rails are there a while after it stops.
func TestHandshakeStorms(t *testing.T) {
	seeds := 300
	if testing.Short() {
		seeds = 30
	}
	for seed := range uint64(seeds) {
		w := newGreetWorld(t, seed)
		for i := range 3 {
			w.host(fmt.Sprint("host", i), nil)
		}
		for _, s := range [][]int{{0, 1}, {0, 1}, {1, 2}, {0, 2}, {0, 0, 1, 1, 2, 2}} {
			w.join(s...)
		}
		w.loss, w.duplicate, w.jitter = w.rng.IntN(40), w.rng.IntN(30), Time(w.rng.IntN(int(300*Millisecond)))+1
		for range 10 {
			w.run(Time(w.rng.IntN(1500)) * Millisecond)
			switch host := w.rng.IntN(3); w.rng.IntN(5) {
			case 0:
				w.start(host)
			case 1:
				w.hosts[host].h.Forget(w.now, PeerID{w.hosts[(host+1)%3].cfg.Host, 1})
			case 2:
				w.carrier(w.segments[w.rng.IntN(5)], w.rng.IntN(2) == 0)
			case 3:
				g := w.hosts[host]
				id := DeviceID(w.rng.IntN(len(g.devices)))
				g.h.RemoveDevice(w.now, id)
				w.run(Time(w.rng.IntN(300)) * Millisecond)
				if err := g.h.AddDevice(w.now, id, g.devices[id]); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, s := range w.segments {
			w.carrier(s, true)
		}
		w.loss, w.duplicate = 0, 0
		w.run(Second)
		w.want(0, 1, 4, 10*Second)
		w.want(0, 2, 3, 10*Second)
		w.want(1, 2, 3, 10*Second)
		w.run(3 * Second)
		w.agree(0, 1)
		w.agree(0, 2)
		w.agree(1, 2)
	}
}

// FuzzHandshake: no frame makes it panic, or fill its tables.
func FuzzHandshake(f *testing.F) {
	var kept [][]byte
	w := newGreetWorld(f, 1)
	w.seen = func(_ greetPort, fr HandshakeFrame) { kept = append(kept, slices.Clone(fr.Data)) }
	w.host("a", nil)
	w.host("b", nil)
	w.join(0, 1)
	w.run(300 * Millisecond)
	w.hosts[1].h.Close(w.now)
	w.run(10 * Millisecond)
	for _, frame := range kept {
		f.Add(frame, uint8(0))
	}
	f.Fuzz(func(t *testing.T, frame []byte, host uint8) {
		w := newGreetWorld(t, 1)
		w.host("a", nil)
		w.host("b", nil)
		w.join(0, 1)
		w.run(200 * Millisecond)
		g := w.hosts[host&1]
		g.h.Receive(w.now, 0, greetMAC(int(1-host&1), 0), frame)
		if len(frame) >= wire.HeaderLen && typeOf(frame) <= wire.TypeReset { // also with a checksum that holds
			fixed := slices.Clone(frame)
			wire.Seal(fixed)
			g.h.Receive(w.now, 0, greetMAC(int(1-host&1), 0), fixed)
		}
		w.settle(int(host & 1))
		if len(g.h.peers) > 3 {
			t.Errorf("%d peers", len(g.h.peers))
		}
	})
}

// TestHandshakeReplayedRail: an old offer does not bring an old rail back.
func TestHandshakeReplayedRail(t *testing.T) {
	w := twoHosts(t, 2)
	var old [][]byte
	w.seen = func(_ greetPort, f HandshakeFrame) {
		if f.Device == 0 && typeOf(f.Data) == wire.TypeHelloAck {
			old = append(old, slices.Clone(f.Data))
		}
	}
	w.run(1200 * Millisecond)
	w.seen = nil
	a, b := w.hosts[0], w.hosts[1]
	a.h.RemoveDevice(w.now, 0)
	if err := a.h.AddDevice(w.now, 0, a.devices[0]); err != nil {
		t.Fatal(err)
	}
	w.run(10 * Millisecond)
	w.want(0, 1, 2, Second)
	stale := b.h.Drops()[HandshakeStale]
	for _, frame := range old {
		b.h.Receive(w.now, 0, greetMAC(0, 0), frame)
	}
	w.settle(1)
	w.agree(0, 1)
	if got := b.h.Drops()[HandshakeStale] - stale; len(old) == 0 || got != uint64(len(old)) {
		t.Errorf("%d of %d old offers are stale", got, len(old))
	}
}
