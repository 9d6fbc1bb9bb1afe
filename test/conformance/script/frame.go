// SPDX-License-Identifier: Apache-2.0

package script

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/tbnet2/tbnet2/transport"
	"github.com/tbnet2/tbnet2/wire"
)

var scriptTypes = map[string]wire.Type{"ping": wire.TypePing, "pong": wire.TypePong, "ack": wire.TypeAck,
	"railset": wire.TypeRailSet, "position": wire.TypePosition, "skip": wire.TypeSkip, "data": wire.TypeData,
	"hello": wire.TypeHello}

// buildFrame makes the bytes of a frame in words; index is the default one.
func buildFrame(c *clause, index uint32) []byte {
	name := c.word(2)
	kind, ok := scriptTypes[name]
	if !ok {
		panic(scriptError(fmt.Sprintf("%q is no frame type", name)))
	}
	h := wire.Header{Type: kind, Index: uint32(c.num("index", int64(index))), RailSeq: uint32(c.num("seq", 0))}
	for word, flag := range map[string]uint8{"resent": wire.FlagResent, "ack_now": wire.FlagAck} {
		if c.has(word) {
			h.Flags |= flag
		}
	}
	frame := buildBody(c, kind, make([]byte, wire.HeaderLen), &h)
	if size := int(c.num("size", 0)); size > len(frame) {
		frame = append(frame, make([]byte, size-len(frame))...)
	}
	h.Length = uint16(len(frame) - wire.HeaderLen)
	h.Put(frame)
	if c.has("crc") {
		wire.Seal(frame)
	}
	return mangle(c, frame)
}

// buildBody appends what follows the header.
func buildBody(c *clause, kind wire.Type, b []byte, h *wire.Header) []byte {
	switch kind {
	case wire.TypeData:
		return buildData(c, b, h)
	case wire.TypePosition, wire.TypeSkip:
		for i := range c.groups {
			g := &c.groups[i]
			b = wire.AppendMark(b, wire.Mark{Channel: uint8(number(g.word(1))), Packet: uint32(g.num("packet", 0))})
		}
		return b
	case wire.TypeRailSet:
		return wire.AppendRailSet(b, wire.RailSet{Generation: uint32(c.num("generation", 0)),
			Rails: uint64(parseRails(c.text("rails", "-")))})
	case wire.TypeHello:
		return binary.LittleEndian.AppendUint64(b, uint64(c.num("nonce", 0)))
	}
	return buildState(c, b)
}

func buildData(c *clause, b []byte, h *wire.Header) []byte {
	off, n := int(c.num("offset", 0)), int(c.num("length", 0))
	d := wire.Data{Packet: uint32(c.num("packet", 0)), Offset: uint16(off / wire.Unit), Channel: uint8(c.num("ch", 0)),
		Total: uint32(c.num("total", int64(off+n))), Stamp: uint32(c.num("stamp", 0))}
	b = append(b, make([]byte, wire.DataLen)...)
	d.Put(b[wire.HeaderLen:])
	if o := c.text("offload", ""); o != "" {
		h.Flags |= wire.FlagOffload
		b = append(b, make([]byte, wire.OffloadLen)...)
		desc := parseOffload(o)
		desc.Put(b[wire.HeaderLen+wire.DataLen:])
	}
	return append(b, scriptContent(d.Channel, d.Packet, off, n)...)
}

func buildState(c *clause, b []byte) []byte {
	st := wire.State{Stamp: uint32(c.num("stamp", 0)), Echo: uint32(c.num("echo", 0)),
		Heard: uint64(parseRails(c.text("heard", "-"))), Generation: uint32(c.num("generation", 0))}
	b = append(b, make([]byte, wire.StateLen)...)
	var rails, channels []byte
	for i := range c.groups {
		g := &c.groups[i]
		if g.word(0) == "rail" {
			st.Rails++
			rails = buildRailAck(g, rails)
			continue
		}
		first, last := span2(g.word(1))
		for ch := first; ch <= last; ch++ {
			st.Channels++
			channels = wire.AppendChannelAck(channels, wire.ChannelAck{Channel: uint8(ch),
				Next: uint32(g.num("next", 0)), Window: uint32(g.num("window", 0))})
		}
	}
	st.Put(b[wire.HeaderLen:])
	return append(append(b, rails...), channels...)
}

func buildRailAck(g *clause, b []byte) []byte {
	a := wire.RailAck{Rail: uint8(number(g.word(1))), Next: uint32(g.num("next", 0)),
		Credit: uint32(g.num("credit", 0)), Delay: uint32(g.num("delay", 0))}
	a.Depth = uint16(g.num("depth", int64(a.Next)))
	for _, gap := range strings.Split(g.text("gaps", ""), ",") {
		if back, count, ok := strings.Cut(gap, "x"); ok {
			a.Gaps[a.Count] = wire.Gap{Back: uint16(number(back)), Count: uint16(number(count))}
			a.Count++
		}
	}
	return wire.AppendRailAck(b, &a)
}

// mangle damages a finished frame as the clause says.
func mangle(c *clause, frame []byte) []byte {
	if at := c.num("flip", -1); at >= 0 {
		frame[at] ^= 1
	}
	if v := c.num("version", -1); v >= 0 {
		frame[0] = frame[0]&0x0f | byte(v)<<4
	}
	if v := c.num("type", -1); v >= 0 {
		frame[0] = frame[0]&0xf0 | byte(v)
	}
	if n := c.num("cut", -1); n >= 0 {
		frame = frame[:n]
	}
	return append(frame, make([]byte, c.num("pad", 0))...)
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(scriptError(fmt.Sprintf("%q is no number", s)))
	}
	return n
}

// span2 reads "3" or "3-5".
func span2(s string) (first, last int) {
	a, b, ok := strings.Cut(s, "-")
	if !ok {
		b = a
	}
	return number(a), number(b)
}

func parseOffload(s string) (o wire.Offload) {
	if _, err := fmt.Sscanf(s, "%d/%d/%d/%d/%d/%d", &o.Flags, &o.GSOType, &o.HdrLen, &o.GSOSize, &o.CsumStart, &o.CsumOffset); err != nil {
		panic(scriptError(fmt.Sprintf("%q is no offload: flags/type/hdr_len/gso_size/csum_start/csum_offset", s)))
	}
	return o
}

func offloadText(o *wire.Offload) string {
	return fmt.Sprintf("offload=%d/%d/%d/%d/%d/%d", o.Flags, o.GSOType, o.HdrLen, o.GSOSize, o.CsumStart, o.CsumOffset)
}

// FrameText puts the bytes of a frame into the words that an action receive
// takes; index is the one that is left out.
func FrameText(frame []byte, index uint32) string { return frameText(frame, index) }

// frameText puts the bytes of a frame into words.
func frameText(frame []byte, index uint32) string {
	var h wire.Header
	body, err := wire.ParseHeader(frame, &h)
	if err != nil {
		return err.Error()
	}
	out := []string{h.Type.String(), fmt.Sprintf("seq=%d", h.RailSeq)}
	if h.Index != index {
		out = append(out, fmt.Sprintf("index=%d", h.Index))
	}
	out = append(out, bodyText(&h, frame, body)...)
	for _, f := range []struct {
		flag uint8
		word string
	}{{wire.FlagResent, "resent"}, {wire.FlagAck, "ack_now"}, {wire.FlagCRC, "crc"}} {
		if h.Flags&f.flag != 0 {
			out = append(out, f.word)
		}
	}
	if h.Flags&wire.FlagCRC != 0 && wire.Sum(frame[:wire.HeaderLen], body) != h.CRC {
		out = append(out, "(wrong)")
	}
	return strings.Join(out, " ")
}

func bodyText(h *wire.Header, frame, body []byte) []string {
	switch h.Type {
	case wire.TypeData:
		return dataText(h, body)
	case wire.TypePosition, wire.TypeSkip:
		var out []string
		for len(body) > 0 {
			m, rest, err := wire.ParseMark(body)
			if err != nil {
				return append(out, err.Error())
			}
			out = append(out, fmt.Sprintf("[channel %d packet=%d]", m.Channel, m.Packet))
			body = rest
		}
		return out
	case wire.TypeRailSet:
		set, err := wire.ParseRailSet(body)
		if err != nil {
			return []string{err.Error()}
		}
		return []string{fmt.Sprintf("generation=%d rails=%s", set.Generation, railsText(transport.RailSet(set.Rails)))}
	}
	return stateText(frame, body)
}

func dataText(h *wire.Header, body []byte) []string {
	var d wire.Data
	var o wire.Offload
	payload, err := wire.ParseData(h.Flags, body, &d, &o)
	if err != nil {
		return []string{err.Error()}
	}
	off := int(d.Offset) * wire.Unit
	out := []string{fmt.Sprintf("ch=%d packet=%d offset=%d length=%d total=%d stamp=%d", d.Channel, d.Packet, off, len(payload), d.Total, d.Stamp)}
	if h.Flags&wire.FlagOffload != 0 {
		out = append(out, offloadText(&o))
	}
	if !bytes.Equal(payload, scriptContent(d.Channel, d.Packet, off, len(payload))) {
		out = append(out, "(content differs)")
	}
	return out
}

func stateText(frame, body []byte) []string {
	var st wire.State
	rest, err := wire.ParseState(body, &st)
	if err != nil {
		return []string{err.Error()}
	}
	out := []string{fmt.Sprintf("size=%d stamp=%d echo=%d heard=%s generation=%d", len(frame), st.Stamp, st.Echo, railsText(transport.RailSet(st.Heard)), st.Generation)}
	for range st.Rails {
		var a wire.RailAck
		if rest, err = wire.ParseRailAck(rest, &a); err != nil {
			return append(out, err.Error())
		}
		out = append(out, railAckText(&a))
	}
	var run []wire.ChannelAck // neighbours that say the same
	for range st.Channels {
		var a wire.ChannelAck
		if a, rest, err = wire.ParseChannelAck(rest); err != nil {
			return append(out, err.Error())
		}
		if k := len(run); k > 0 && (run[k-1].Channel+1 != a.Channel || run[k-1].Next != a.Next || run[k-1].Window != a.Window) {
			out, run = append(out, channelAcksText(run)), run[:0]
		}
		run = append(run, a)
	}
	if len(run) > 0 {
		out = append(out, channelAcksText(run))
	}
	if len(bytes.Trim(rest, "\x00")) > 0 {
		out = append(out, "(padding is not zero)")
	}
	return out
}

func railAckText(a *wire.RailAck) string {
	text := fmt.Sprintf("[rail %d next=%d depth=%d credit=%d delay=%d", a.Rail, a.Next, a.Depth, a.Credit, a.Delay)
	for i, g := range a.Gaps[:a.Count] {
		text += [...]string{" gaps=", ","}[min(i, 1)] + fmt.Sprintf("%dx%d", g.Back, g.Count)
	}
	return text + "]"
}

func channelAcksText(run []wire.ChannelAck) string {
	first, last := run[0].Channel, run[len(run)-1].Channel
	name := strconv.Itoa(int(first))
	if last != first {
		name += "-" + strconv.Itoa(int(last))
	}
	return fmt.Sprintf("[channel %s next=%d window=%d]", name, run[0].Next, run[0].Window)
}
