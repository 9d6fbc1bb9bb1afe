// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/tbnet2/tbnet2/test/conformance/script"
	"github.com/tbnet2/tbnet2/transport"
	"github.com/tbnet2/tbnet2/wire"
)

// greetings is hosts on cables and switches; the first is recorded.
type greetings struct {
	rng    *rand.Rand
	now    transport.Time
	hosts  []*host
	flying []greeting
	old    []greeting // that the first host has got, for replays
	serial int
	loss   int // per 100
	script Script
}

// host is a speaker.
type host struct {
	player  *script.Player
	words   string // of its host line, but for epoch and seed
	uuid    string
	devices []*port
	rails   []madeRail // by its changes
	peers   []string
}

// port is a device of a host.
type port struct {
	segment int
	mac     string
	mtu     int
	rate    int
	carrier bool
	crc     bool
	gone    bool
	deaf    bool
}

type madeRail struct {
	peer string
	id   transport.RailID
}

// greeting is a frame on its way to a device.
type greeting struct {
	at       transport.Time
	serial   int
	host, to int // device
	from     string
	data     []byte
	raw      bool // cannot be said in words
}

// NewGreeting makes the script of a handshake of a seed.
func NewGreeting(seed uint64) Script {
	g := &greetings{rng: rand.New(rand.NewPCG(seed, 5))}
	g.loss = []int{0, 0, 5, 30}[g.rng.IntN(4)]
	g.setUp()
	for len(g.script.Lines) < linesMost && (len(g.script.Got) < 10 || g.rng.IntN(80) > 0) {
		g.turn()
	}
	g.script.Left = g.hosts[0].player.Finish()
	return g.script
}

func (g *greetings) chance(n int) bool { return g.rng.IntN(100) < n }

// setUp draws hosts and puts their devices on segments.
func (g *greetings) setUp() {
	for i := range 2 + g.rng.IntN(2) + g.rng.IntN(2)*g.rng.IntN(2) {
		h := &host{uuid: fmt.Sprintf("%032x", 1+g.rng.IntN(3)*256+i)}
		if i > 1 && g.chance(8) {
			h.uuid = g.hosts[g.rng.IntN(i)].uuid // two machines have one
		}
		service := 1
		if g.chance(6) {
			service = 2
		}
		h.words = fmt.Sprintf("host uuid=%s name=%s endpoint=%d service=%d caps=%d slots=%d", h.uuid, []string{"alpha", "beta", "gämmä", ""}[g.rng.IntN(4)],
			g.rng.IntN(2), service, g.rng.IntN(8)&^2, 1<<g.rng.IntN(12))
		g.hosts = append(g.hosts, h)
		g.start(i)
	}
	for segment := range 1 + g.rng.IntN(4) {
		for i := range g.hosts {
			for range []int{0, 1, 1, 1, 2}[g.rng.IntN(5)] {
				g.plug(i, segment)
			}
		}
	}
	g.plug(0, 0)
	g.plug(1, 0)
}

// start begins a new epoch of a host.
func (g *greetings) start(i int) {
	h := g.hosts[i]
	line := fmt.Sprintf("%s epoch=%d seed=%d", h.words, g.rng.Uint64(), g.rng.Uint64())
	p, err := script.NewPlayer("generated", []script.Line{{Text: line}})
	if err != nil {
		panic(err)
	}
	h.player, h.rails, h.peers = p, nil, nil
	if i == 0 {
		g.script.Lines = []string{line}
	}
	for id, d := range h.devices {
		if !d.gone {
			g.step(i, h.attach("device", id))
		}
	}
}

// attach gives the action that tells of a device.
func (h *host) attach(verb string, id int) string {
	d := h.devices[id]
	text := fmt.Sprintf("%s %d mac=%s mtu=%d rate=%d group=%d", verb, id, d.mac, d.mtu, d.rate, d.segment)
	if !d.carrier {
		text += " no_carrier"
	}
	if d.crc {
		text += " crc"
	}
	return text
}

func (g *greetings) plug(i, segment int) {
	h := g.hosts[i]
	id := len(h.devices)
	h.devices = append(h.devices, &port{segment: segment, mac: fmt.Sprintf("0200000000%x%x", i, id&15), mtu: []int{1500, 9000, 65535, 100000}[g.rng.IntN(4)],
		rate: g.rng.IntN(3) * 1000000000, carrier: true, crc: g.chance(30), deaf: g.chance(4)})
	g.step(i, h.attach("device", id))
}

// step has a host do something at now, and sends what comes out.
func (g *greetings) step(i int, actions ...string) {
	lines := make([]script.Line, len(actions))
	for k, a := range actions {
		lines[k].Text = a
		if i == 0 {
			prefix := "and "
			if k == 0 {
				prefix = "at " + script.TimeText(g.now) + " "
			}
			g.script.Lines = append(g.script.Lines, prefix+a)
		}
	}
	h := g.hosts[i]
	got, err := h.player.Step(g.now, lines)
	if err != nil {
		panic(fmt.Sprintf("generated: %v: %v", err, actions))
	}
	if i == 0 {
		g.script.Got = append(g.script.Got, got)
	}
	for _, c := range h.player.Changes() {
		h.follow(&c)
	}
	for _, f := range h.player.Sent() {
		g.send(i, f)
	}
}

// follow keeps what is known of a host's peers and rails.
func (h *host) follow(c *transport.HandshakeChange) {
	peer := fmt.Sprintf("%x/%d", c.Peer.Host, c.Peer.Endpoint)
	switch c.Kind {
	case transport.ChangePeerMade:
		h.peers = append(h.peers, peer)
	case transport.ChangePeerGone:
		h.peers = slices.DeleteFunc(h.peers, func(p string) bool { return p == peer })
		h.rails = slices.DeleteFunc(h.rails, func(r madeRail) bool { return r.peer == peer })
	case transport.ChangeRailMade:
		h.rails = append(h.rails, madeRail{peer, c.Rail.ID})
	case transport.ChangeRailGone:
		h.rails = slices.DeleteFunc(h.rails, func(r madeRail) bool { return r == madeRail{peer, c.Rail.ID} })
	}
}

// send puts a frame on the segment of its device.
func (g *greetings) send(i int, f script.Sent) {
	from := g.hosts[i].devices[f.Rail]
	to := hex.EncodeToString(f.To[:])
	for k, h := range g.hosts {
		for id, d := range h.devices {
			if d == from || d.segment != from.segment || d.gone || d.deaf || !d.carrier || g.rng.IntN(100) < g.loss {
				continue
			}
			if f.To != wire.HelloMAC && to != d.mac {
				continue
			}
			g.serial++
			g.flying = append(g.flying, greeting{g.now + transport.Time(10+g.rng.IntN(50))*transport.Microsecond, g.serial, k, id, from.mac, f.Data, false})
		}
	}
}

// turn lets the world go on, or does something to it.
func (g *greetings) turn() {
	switch n := g.rng.IntN(100); {
	case n < 60 && len(g.flying) > 0:
		g.deliver()
	case n < 80:
		g.wait()
	case n < 86:
		g.hear()
	case n < 92:
		g.operate()
	default:
		g.forge()
	}
}

// deliver brings the next frame.
func (g *greetings) deliver() {
	slices.SortFunc(g.flying, func(a, b greeting) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.serial, b.serial)) })
	f := g.flying[0]
	g.flying = g.flying[1:]
	g.now = max(g.now, f.at)
	if f.host == 0 {
		g.old = append(g.old, f)
		if g.chance(5) {
			f.data, f.raw = g.spoil(f.data), true
		}
	}
	g.step(f.host, receiveGreeting(f))
}

func receiveGreeting(f greeting) string {
	if f.raw && len(f.data) > 0 {
		return fmt.Sprintf("receive %d raw=%x from=%s", f.to, f.data, f.from)
	}
	return fmt.Sprintf("receive %d %s from=%s", f.to, script.GreetingText(f.data), f.from)
}

// wait lets every host tick at its time.
func (g *greetings) wait() {
	span := transport.Time(1+g.rng.IntN(120)) * transport.Millisecond
	switch n := g.rng.IntN(100); {
	case n < 5:
		span = transport.Time(1+g.rng.IntN(12)) * transport.Second
	case n < 25:
		span = transport.Time(100+g.rng.IntN(1000)) * transport.Millisecond
	}
	if g.chance(85) {
		g.drain()
		span = min(span, 1100*transport.Millisecond)
	}
	g.now += span
	for i := range g.hosts {
		if !g.chance(10) {
			g.step(i, "run")
		}
	}
}

// drain brings what is on its way, and the answers to it, up to some number.
func (g *greetings) drain() {
	for range 30 {
		if len(g.flying) == 0 {
			return
		}
		g.deliver()
	}
}

// hear tells a host that it hears its peer, or not any more.
func (g *greetings) hear() {
	i := g.rng.IntN(len(g.hosts))
	h := g.hosts[i]
	if len(h.rails) == 0 {
		return
	}
	r := h.rails[g.rng.IntN(len(h.rails))]
	g.step(i, fmt.Sprintf("heard %s %d %s", r.peer, r.id, word(g.chance(70), "on", "off")))
}

// operate changes something about a host.
func (g *greetings) operate() {
	i := g.rng.IntN(len(g.hosts))
	h := g.hosts[i]
	if len(h.devices) == 0 {
		return
	}
	id := g.rng.IntN(len(h.devices))
	d := h.devices[id]
	switch n := g.rng.IntN(12); {
	case n < 2 && i > 0:
		g.start(i)
	case n < 5 && !d.gone:
		d.carrier = !d.carrier
		g.step(i, h.attach("set", id))
	case n < 7 && !d.gone:
		d.mtu, d.rate, d.crc = 1500+g.rng.IntN(3)*1000, g.rng.IntN(3)*500000000, g.chance(50)
		g.step(i, h.attach("set", id))
	case n < 9:
		if d.gone = !d.gone; d.gone {
			g.step(i, fmt.Sprintf("unplug %d", id))
		} else {
			g.step(i, h.attach("device", id))
		}
	case n < 10 && len(h.peers) > 0:
		g.step(i, "forget "+h.peers[g.rng.IntN(len(h.peers))])
	case n < 11:
		g.step(i, fmt.Sprintf("unknown %d from=%s index=%d", id, g.someMAC(), 256*g.rng.IntN(3)+g.rng.IntN(2)))
	case g.chance(5):
		g.step(0, "close")
	default:
		g.step(i, "tick")
	}
}

// someMAC draws the address of a device.
func (g *greetings) someMAC() string {
	h := g.hosts[g.rng.IntN(len(g.hosts))]
	if len(h.devices) == 0 || g.chance(10) {
		return "02ffffffffff"
	}
	return h.devices[g.rng.IntN(len(h.devices))].mac
}

// forge sends the first host what nobody has sent: an old frame anew, or one
// with a field changed.
func (g *greetings) forge() {
	if len(g.old) == 0 {
		return
	}
	f := g.old[g.rng.IntN(len(g.old))]
	switch g.rng.IntN(4) {
	case 0: // as it was
	case 1:
		f.data, f.raw = g.spoil(f.data), true
	case 2:
		f.from, f.to = g.someMAC(), g.rng.IntN(8)
	default:
		g.step(0, g.changed(f))
		return
	}
	g.step(0, receiveGreeting(f))
}

// spoil changes a byte, and mostly the CRC with it.
func (g *greetings) spoil(data []byte) []byte {
	b := slices.Clone(data)
	b[g.rng.IntN(len(b))] ^= 1 << g.rng.IntN(8)
	if g.chance(15) {
		b = b[:1+g.rng.IntN(len(b)-1)]
	}
	if len(b) >= wire.HeaderLen && g.chance(80) {
		wire.Seal(b)
	}
	return b
}

// changed gives the action for a frame of which one word is another.
func (g *greetings) changed(f greeting) string {
	words := strings.Fields(receiveGreeting(f))
	fields := map[string]string{"versions": pickOf(g.rng, "0-0", "2-3", "1-2"), "service": pickOf(g.rng, "1", "2", "9"),
		"epoch": fmt.Sprint(g.rng.IntN(3)), "uuid": g.hosts[g.rng.IntN(len(g.hosts))].uuid, "own": fmt.Sprint(256 + g.rng.IntN(4)),
		"rail": fmt.Sprint(g.rng.IntN(70)), "nonce": fmt.Sprint(g.rng.IntN(3)), "echo": fmt.Sprint(g.rng.IntN(2)),
		"group": fmt.Sprint(g.rng.IntN(3)), "index": fmt.Sprint(g.rng.IntN(600)), "name": "other", "reason": "2", "caps": fmt.Sprint(g.rng.IntN(8))}
	at := 2 + g.rng.IntN(len(words)-2)
	if key, _, ok := strings.Cut(words[at], "="); ok && fields[key] != "" {
		words[at] = key + "=" + fields[key]
	} else if words[at] == "hello" || words[at] == "hello_ack" || words[at] == "confirm" {
		words[at] = pickOf(g.rng, "hello", "hello_ack", "confirm")
	}
	return strings.Join(words, " ")
}

func pickOf(rng *rand.Rand, values ...string) string { return values[rng.IntN(len(values))] }
