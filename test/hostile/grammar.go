// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math/rand/v2"

	"github.com/tbnet2/tbnet2/rail"
	"github.com/tbnet2/tbnet2/wire"
)

// grammar makes frames from a seed: what a frame may hold, at and beyond its
// bounds.
type grammar struct {
	*rand.Rand
	memory *arena
	names  []string // for hosts
}

func newGrammar(seed uint64) grammar {
	g := grammar{rand.New(rand.NewPCG(seed, 0x6772616d)), new(arena), nil}
	for range 256 {
		g.names = append(g.names, g.name())
	}
	return g
}

// arena is the memory of a batch's frames, used again for the next one: an
// attacker that has the collector run would disturb by that alone.
type arena struct{ used, whole []byte }

// reset takes everything back.
func (a *arena) reset() { a.used = a.whole[:0] }

// space gives room for n bytes to append, until reset.
func (a *arena) space(n int) []byte {
	if cap(a.used)-len(a.used) < n {
		a.whole = make([]byte, 0, max(n, 2*cap(a.whole), 64<<10))
		a.used = a.whole
	}
	at := len(a.used)
	a.used = a.used[:at+n]
	return a.used[at:at:len(a.used)]
}

// zeros gives n bytes.
func (a *arena) zeros(n int) []byte {
	b := a.space(n)[:n]
	clear(b)
	return b
}

// edge32 is a number near what is held, near a bound, or any.
func (g grammar) edge32(near uint32) uint32 {
	switch g.IntN(6) {
	case 0:
		return near
	case 1, 2:
		return near + uint32(g.IntN(9)) - 4
	case 3:
		return near + uint32(1)<<g.IntN(32)
	case 4:
		return []uint32{0, 1, 1 << 31, 1<<32 - 1, 1<<31 - 1, 65535, 65536, 65600, 65601}[g.IntN(9)]
	}
	return g.Uint32()
}

func (g grammar) bytes(n int) []byte {
	b := g.memory.space(n)[:n]
	for i := 0; i < n; i += 8 {
		v := g.Uint64()
		for k := i; k < min(n, i+8); k++ {
			b[k] = byte(v)
			v >>= 8
		}
	}
	return b
}

// mac is an address: one of few, so that tables see it again, or any.
func (g grammar) mac() rail.MAC {
	if g.IntN(2) == 0 {
		return rail.MAC{2, 0xbd, 0, 0, 0, byte(g.IntN(64))}
	}
	return rail.MAC(g.bytes(macLen))
}

// frame seals a body under a header; one in sixteen has a wrong CRC, and one
// none.
func (g grammar) frame(h wire.Header, body []byte) []byte {
	h.Length = uint16(len(body))
	b := g.memory.space(wire.HeaderLen + len(body))[:wire.HeaderLen]
	h.Put(b)
	b = append(b, body...)
	switch g.IntN(16) {
	case 0:
	case 1:
		b[1] |= wire.FlagCRC
	default:
		wire.Seal(b)
	}
	return b
}

// sealed is a frame with a right CRC.
func (g grammar) sealed(h wire.Header, body []byte) []byte {
	return sealed(g.memory.space(wire.HeaderLen+len(body)), h, body)
}

// Room for the longest that are made, bytes.
const (
	greetingMost = 512
	stateMost    = wire.StateLen + 4*(wire.RailAckLen+wire.GapsMax*wire.GapLen+wire.ChannelAckLen)
)

// greeting is a HELLO, HELLO_ACK or CONFIRM of somebody.
func (g grammar) greeting(known *facts) []byte {
	m := wire.Hello{Nonce: g.Uint64(), Epoch: g.Uint64(), Index: g.Uint32() | 1<<8, Service: wire.ServiceEthernet,
		VersionLow: wire.Version, VersionHigh: wire.Version, MTU: g.edge32(9000), Caps: wire.Caps(g.Uint32()),
		Rate: uint64(g.edge32(1e9)), Slots: 1 << g.IntN(18), Group: uint64(g.IntN(4)), Name: g.names[g.IntN(len(g.names))]}
	copy(m.Host[:], g.bytes(16))
	if g.IntN(4) == 0 { // one of few, so that its tables fill
		m.Host = [16]byte{0xbd, byte(g.IntN(4))}
		m.Epoch = uint64(g.IntN(3))
	}
	if g.IntN(64) == 0 {
		m.Host = known.victim
	}
	switch g.IntN(8) {
	case 0:
		m.Service = wire.Service(g.IntN(256))
	case 1:
		m.VersionHigh = uint8(g.IntN(256))
	}
	t := wire.Type(g.IntN(3))
	if t != wire.TypeHello {
		m.Echo, m.Rail, m.HasRail = known.nonce.Load(), uint8(g.IntN(wire.RailsMax)), true
	}
	body := wire.AppendHello(g.memory.space(greetingMost), &m)
	if g.IntN(8) == 0 { // a TLV more, or less
		body = append(body, byte(g.IntN(256)), byte(g.IntN(8)), 0, 0, 0, 0)
	}
	return g.frame(wire.Header{Type: t, Index: g.edge32(known.helloIndex.Load())}, body)
}

// name makes one of any characters.
func (g grammar) name() string {
	r := make([]rune, g.IntN(20))
	for i := range r {
		r[i] = rune(g.IntN(0x300))
	}
	return string(r)
}

// state is the body of a PING, PONG or ACK about what was and was not sent.
func (g grammar) state(near uint32) []byte {
	st := wire.State{Stamp: g.Uint32(), Echo: g.edge32(near), Heard: g.Uint64(), Generation: g.edge32(0),
		Rails: uint8(g.IntN(4)), Channels: uint8(g.IntN(4))}
	body := g.memory.space(stateMost)[:wire.StateLen]
	rails, channels := int(st.Rails), int(st.Channels)
	if g.IntN(8) == 0 {
		st.Rails, st.Channels = uint8(g.IntN(256)), uint8(g.IntN(256)) // more than follow
	}
	st.Put(body)
	for range rails {
		a := wire.RailAck{Rail: uint8(g.IntN(wire.RailsMax + 1)), Depth: uint16(g.Uint32()), Next: g.edge32(near), Credit: g.Uint32(),
			Delay: g.Uint32(), Count: uint8(g.IntN(wire.GapsMax))}
		for i := range a.Gaps {
			a.Gaps[i] = wire.Gap{Back: uint16(g.Uint32()), Count: uint16(g.IntN(3))}
		}
		body = wire.AppendRailAck(body, &a)
	}
	for range channels {
		body = wire.AppendChannelAck(body, wire.ChannelAck{Channel: uint8(g.IntN(wire.Channels + 1)), Next: g.edge32(near), Window: g.Uint32()})
	}
	return body
}

// marks is the body of a POSITION or SKIP.
func (g grammar) marks(near uint32) []byte {
	body := g.memory.space(5 * wire.MarkLen)
	for range g.IntN(5) {
		body = wire.AppendMark(body, wire.Mark{Channel: uint8(g.IntN(wire.Channels + 1)), Packet: g.edge32(near)})
	}
	return body
}

// data is the body of a DATA frame, of a packet near what comes next.
func (g grammar) data(near uint32, flags uint8) []byte {
	d := wire.Data{Packet: near + uint32(g.IntN(40)), Channel: uint8(g.IntN(wire.Channels + 1)), Stamp: g.Uint32()}
	n := 64 * (1 + g.IntN(8))
	switch g.IntN(4) {
	case 0:
		d.Total = uint32(n)
	case 1:
		d.Offset, d.Total = uint16(g.IntN(64)), uint32(65536+g.IntN(100))
	default: // contradicts others of its packet
		d.Offset, d.Total, d.Packet = uint16(g.IntN(1100)), g.edge32(4096), g.edge32(near)
	}
	body := g.memory.space(wire.DataLen + wire.OffloadLen + n)[:wire.DataLen]
	d.Put(body)
	if flags&wire.FlagOffload != 0 {
		body = append(body, g.bytes(wire.OffloadLen)...)
		clear(body[len(body)-6:])
	}
	return append(body, g.bytes(n)...)
}

// any is a frame of any type to an index, about a rail sequence.
func (g grammar) any(known *facts, index, seq uint32) []byte {
	t := wire.Type(g.IntN(12))
	h := wire.Header{Type: t, Index: index, RailSeq: g.edge32(seq)}
	switch t {
	case wire.TypeHello, wire.TypeHelloAck, wire.TypeConfirm:
		return g.greeting(known)
	case wire.TypeReset:
		h.Index = 0
		return g.frame(h, wire.AppendReset(g.memory.space(wire.ResetLen), wire.Reset{Index: g.edge32(index), Reason: uint8(g.IntN(4))}))
	case wire.TypePing, wire.TypePong, wire.TypeAck:
		return g.frame(h, g.state(seq))
	case wire.TypeRailSet:
		return g.frame(h, wire.AppendRailSet(g.memory.space(wire.RailSetLen), wire.RailSet{Generation: g.edge32(0), Rails: g.Uint64()}))
	case wire.TypePosition, wire.TypeSkip:
		return g.frame(h, g.marks(seq))
	case wire.TypeData:
		h.Flags = uint8(g.IntN(16)) &^ wire.FlagCRC
		return g.frame(h, g.data(seq, h.Flags))
	}
	return g.frame(h, g.bytes(g.IntN(200)))
}

// mutate changes a few bytes of a frame, or its length; half of them get a CRC
// that is right again.
func (g grammar) mutate(frame []byte) []byte {
	b := append(g.memory.space(len(frame)), frame...)
	for range 1 + g.IntN(4) {
		if len(b) > 0 {
			b[g.IntN(len(b))] ^= 1 << g.IntN(8)
		}
	}
	if g.IntN(4) == 0 {
		b = b[:g.IntN(len(b)+1)]
	}
	if len(b) >= wire.HeaderLen && g.IntN(2) == 0 {
		if n := int(b[2]) | int(b[3])<<8; n <= len(b)-wire.HeaderLen {
			wire.Seal(b[:wire.HeaderLen], b[wire.HeaderLen:wire.HeaderLen+n])
		}
	}
	return b
}
