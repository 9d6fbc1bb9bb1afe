// SPDX-License-Identifier: Apache-2.0

package script

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tbnet2/tbnet2/transport"
	"github.com/tbnet2/tbnet2/wire"
)

// greeter is a handshake and the host around it.
type greeter struct {
	h       *transport.Handshake
	output  transport.HandshakeOutput
	random  uint64
	lines   []string // of the step
	counts  []uint64
	sent    []Sent
	changes []transport.HandshakeChange
}

// Changes gives what has changed since it was last asked, for a script of the
// handshake.
func (p *Player) Changes() []transport.HandshakeChange {
	g, ok := p.core.(*greeter)
	if !ok {
		return nil
	}
	changes := g.changes
	g.changes = nil
	return changes
}

// newGreeter makes the handshake of a host line.
func newGreeter(c *clause) *greeter {
	g := &greeter{random: uint64(c.num("seed", 1))}
	g.h = transport.NewHandshake(transport.HandshakeConfig{Host: uuidOf(c.text("uuid", "")), Name: c.text("name", "host"),
		Endpoint: uint8(c.num("endpoint", 1)), Service: wire.Service(c.num("service", 1)), Epoch: uint64(c.num("epoch", 1)),
		Caps: wire.Caps(c.num("caps", 0)), Slots: int(c.num("slots", 16)), Random: g.draw}, 0)
	return g
}

// draw gives the next number of SplitMix64: any sequence would do, but both
// runners must have it.
func (g *greeter) draw() uint64 {
	g.random += 0x9e3779b97f4a7c15
	z := g.random
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func bytesOf(s string, n int) []byte {
	b, err := hex.DecodeString(s)
	if err != nil || n >= 0 && len(b) != n {
		panic(scriptError(fmt.Sprintf("%q are not %d bytes in hex", s, n)))
	}
	return b
}

func uuidOf(s string) (uuid [16]byte) {
	copy(uuid[:], bytesOf(s, 16))
	return uuid
}

func macOf(s string) (mac [6]byte) {
	copy(mac[:], bytesOf(s, 6))
	return mac
}

// peerOf reads UUID/ENDPOINT.
func peerOf(s string) transport.PeerID {
	uuid, endpoint, _ := strings.Cut(s, "/")
	return transport.PeerID{Host: uuidOf(uuid), Endpoint: uint8(number(endpoint))}
}

func peerText(id transport.PeerID) string { return fmt.Sprintf("%x/%d", id.Host, id.Endpoint) }

func attachmentOf(c *clause) transport.Attachment {
	return transport.Attachment{Name: c.text("name", "dev"+c.word(1)), MAC: macOf(c.text("mac", "020000000000")), MTU: int(c.num("mtu", 1500)),
		Rate: uint64(c.num("rate", 0)), Group: uint64(c.num("group", 0)), Carrier: !c.has("no_carrier"), CRC: c.has("crc")}
}

// do does one action.
func (g *greeter) do(c *clause, now transport.Time) {
	verb := c.word(0)
	if verb == "tick" || verb == "close" {
		g.doAll(verb, now)
		return
	}
	if verb == "forget" || verb == "heard" {
		g.doPeer(c, now)
		return
	}
	id := transport.DeviceID(railID(c))
	switch verb {
	case "device":
		if err := g.h.AddDevice(now, id, attachmentOf(c)); err != nil {
			panic(scriptError(err.Error()))
		}
	case "set":
		g.h.SetDevice(now, id, attachmentOf(c))
	case "unplug":
		g.h.RemoveDevice(now, id)
	case "receive":
		g.h.Receive(now, id, macOf(c.text("from", "")), buildGreeting(c))
	case "unknown":
		g.h.UnknownIndex(now, id, macOf(c.text("from", "")), uint32(c.num("index", 0)))
	default:
		panic(scriptError(fmt.Sprintf("%q is no action", verb)))
	}
}

func (g *greeter) doAll(verb string, now transport.Time) {
	if verb == "close" {
		g.h.Close(now)
		return
	}
	g.h.Tick(now)
}

func (g *greeter) doPeer(c *clause, now transport.Time) {
	id := peerOf(c.word(1))
	if c.word(0) == "forget" {
		g.h.Forget(now, id)
		return
	}
	g.h.Heard(now, id, transport.RailID(number(c.word(2))&63), c.word(3) == "on")
}

func (g *greeter) end(transport.Time) { g.collect() }

func (g *greeter) out() []string {
	lines := g.lines
	g.lines = nil
	return lines
}

func (g *greeter) took() []Sent {
	sent := g.sent
	g.sent = nil
	return sent
}

// runTo ticks at every deadline up to and at the given time.
func (g *greeter) runTo(at transport.Time) {
	last := transport.Time(0)
	for range 100000 {
		due := max(last, g.h.Deadline())
		if due > at {
			return
		}
		last = due
		g.h.Tick(due)
		before := len(g.lines)
		g.collect()
		if len(g.lines) > before {
			g.lines = slices.Insert(g.lines, before, "tick "+timeText(due))
		}
	}
	panic(scriptError("ticks without end at " + timeText(at)))
}

// finish ends it all.
func (g *greeter) finish() error {
	if st, drops := g.h.Stats(), g.h.Drops(); st.Frames != st.Taken+sum(drops[:]) {
		return fmt.Errorf("%d frames received, %d taken, %d dropped", st.Frames, st.Taken, sum(drops[:]))
	}
	return nil
}

func sum(values []uint64) (n uint64) {
	for _, v := range values {
		n += v
	}
	return n
}

// collect writes down what has changed, what is to be sent, and the counters
// that have moved.
func (g *greeter) collect() {
	g.h.Take(&g.output)
	for i := range g.output.Changes {
		g.lines = append(g.lines, changeText(&g.output.Changes[i]))
	}
	g.changes = append(g.changes, g.output.Changes...)
	for _, f := range g.output.Frames {
		g.lines = append(g.lines, fmt.Sprintf("send %d to=%x %s", f.Device, f.To, GreetingText(f.Data)))
		g.sent = append(g.sent, Sent{transport.RailID(f.Device), f.To, f.Data})
	}
	g.countAll()
}

// greeterNames are what counters are called, in the order of countAll.
var greeterNames = func() []string {
	var names []string
	new(transport.HandshakeDrops).Each(func(name string, _ uint64) { names = append(names, "drop "+name) })
	return append(names, "count resets_held", "count notes_full")
}()

func (g *greeter) countAll() {
	drops, st := g.h.Drops(), g.h.Stats()
	now := append(drops[:], st.ResetsHeld, st.NotesFull)
	if g.counts == nil {
		g.counts = make([]uint64, len(now))
	}
	for i, n := range now {
		if n != g.counts[i] {
			g.lines = append(g.lines, fmt.Sprintf("%s %d", greeterNames[i], n-g.counts[i]))
		}
	}
	g.counts = now
}

func changeText(c *transport.HandshakeChange) string {
	text := strings.ReplaceAll(c.Kind.String(), " ", "_") + " " + peerText(c.Peer)
	switch c.Kind {
	case transport.ChangePeerMade:
		i := &c.Association
		text += fmt.Sprintf(" name=%s epoch=%d index=%d peer_index=%d slots=%d", i.Name, i.Epoch, i.LocalIndex, i.PeerIndex, i.Slots)
		return text + flagText(i.Retransmit, " retransmit") + flagText(i.Offload, " offload")
	case transport.ChangePeerGone:
		return text + " " + c.Reason.String()
	case transport.ChangeNotice:
		n := &c.Notice
		return text + fmt.Sprintf(" %v name=%s device=%s mac=%x", n.Kind, n.Name, n.Device, n.MAC)
	}
	r := &c.Rail
	text += fmt.Sprintf(" id=%d peer=%d device=%d mac=%x mtu=%d peer_mtu=%d rate=%d peer_rate=%d group=%d", r.ID, r.PeerID, r.Device,
		r.MAC, r.MTU, r.PeerMTU, r.Rate, r.PeerRate, r.Group)
	return text + flagText(r.NoCRC, " no_crc")
}

func flagText(on bool, text string) string {
	if on {
		return text
	}
	return ""
}

var greetingTypes = map[string]wire.Type{"hello": wire.TypeHello, "hello_ack": wire.TypeHelloAck, "confirm": wire.TypeConfirm,
	"reset": wire.TypeReset}

// buildGreeting makes the bytes of a frame of the handshake in words.
func buildGreeting(c *clause) []byte {
	if raw := c.text("raw", ""); raw != "" {
		return bytesOf(raw, -1)
	}
	kind, ok := greetingTypes[c.word(2)]
	if !ok {
		panic(scriptError(fmt.Sprintf("%q is no frame of the handshake", c.word(2))))
	}
	h := wire.Header{Type: kind, Index: uint32(c.num("index", 0)), RailSeq: uint32(c.num("seq", 0))}
	frame := make([]byte, wire.HeaderLen)
	if kind == wire.TypeReset {
		frame = wire.AppendReset(frame, wire.Reset{Index: uint32(c.num("of", 0)), Reason: uint8(c.num("reason", wire.ResetUnknown))})
	} else {
		frame = wire.AppendHello(frame, greetingOf(c))
	}
	h.Length = uint16(len(frame) - wire.HeaderLen)
	h.Put(frame)
	if c.has("crc") {
		wire.Seal(frame)
	}
	return mangle(c, frame)
}

func greetingOf(c *clause) *wire.Hello {
	low, high := span2(c.text("versions", "1"))
	m := &wire.Hello{Nonce: uint64(c.num("nonce", 0)), Echo: uint64(c.num("echo", 0)), Host: uuidOf(c.text("uuid", "")),
		Epoch: uint64(c.num("epoch", 0)), Index: uint32(c.num("own", 256)), Service: wire.Service(c.num("service", 1)),
		VersionLow: uint8(low), VersionHigh: uint8(high), Group: uint64(c.num("group", 0)), MTU: uint32(c.num("mtu", 1500)),
		Rate: uint64(c.num("rate", 0)), Caps: wire.Caps(c.num("caps", 0)), Slots: uint32(c.num("slots", 0)), Name: c.text("name", "")}
	if rail := c.num("rail", -1); rail >= 0 {
		m.Rail, m.HasRail = uint8(rail), true
	}
	return m
}

// GreetingText puts the bytes of a frame of the handshake into the words that
// an action receive takes.
func GreetingText(frame []byte) string {
	var h wire.Header
	body, err := wire.ParseHeader(frame, &h)
	if err != nil || h.Type > wire.TypeReset {
		return "raw=" + hex.EncodeToString(frame)
	}
	text := fmt.Sprintf("%v index=%d", h.Type, h.Index)
	if h.Type == wire.TypeReset {
		r, err := wire.ParseReset(body)
		if err != nil {
			return "raw=" + hex.EncodeToString(frame)
		}
		text += fmt.Sprintf(" of=%d reason=%d", r.Index, r.Reason)
	} else {
		var m wire.Hello
		if wire.ParseHello(body, &m) != nil {
			return "raw=" + hex.EncodeToString(frame)
		}
		text += helloText(&m)
	}
	if h.Flags&wire.FlagCRC == 0 {
		return text
	}
	if wire.Sum(frame[:wire.HeaderLen], body) != h.CRC {
		return text + " crc (wrong)"
	}
	return text + " crc"
}

func helloText(m *wire.Hello) string {
	text := fmt.Sprintf(" nonce=0x%x echo=0x%x uuid=%x epoch=%d own=%d service=%d versions=%d-%d", m.Nonce, m.Echo, m.Host, m.Epoch,
		m.Index, m.Service, m.VersionLow, m.VersionHigh)
	if m.HasRail {
		text += " rail=" + strconv.Itoa(int(m.Rail))
	}
	return text + fmt.Sprintf(" group=%d mtu=%d rate=%d caps=%d slots=%d name=%s", m.Group, m.MTU, m.Rate, m.Caps, m.Slots, m.Name)
}
