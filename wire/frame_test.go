// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/tbnet2/tbnet2/wire"
)

// errCRC stands for what the caller of Sum finds.
var errCRC = errors.New("CRC differs")

// frame is a frame that was read: its fields in the words of frames.txt, and
// the body that our own writers make of them.
type frame struct {
	header wire.Header
	lines  []string
	again  []byte // the body
}

func (f *frame) line(format string, args ...any) {
	f.lines = append(f.lines, fmt.Sprintf(format, args...))
}

// encode writes the frame with Put and the Append functions.
func (f *frame) encode() []byte {
	b := make([]byte, wire.HeaderLen)
	h := f.header
	h.Length = uint16(len(f.again))
	h.Put(b)
	return append(b, f.again...)
}

// decode reads a frame as a receiver does: header, CRC, body.
func decode(b []byte) (*frame, error) {
	f := new(frame)
	h := &f.header
	body, err := wire.ParseHeader(b, h)
	if err != nil {
		return nil, err
	}
	if h.Flags&wire.FlagCRC != 0 && wire.Sum(b[:wire.HeaderLen], body) != h.CRC {
		return nil, errCRC
	}
	f.line("hdr version=%d type=%d flags=%d length=%d index=0x%x rail_seq=%d crc=0x%08x", wire.Version, h.Type, h.Flags,
		h.Length, h.Index, h.RailSeq, h.CRC)
	return f, f.body(body)
}

func (f *frame) body(body []byte) error {
	switch f.header.Type {
	case wire.TypeHello, wire.TypeHelloAck, wire.TypeConfirm:
		return f.hello(body)
	case wire.TypeReset:
		r, err := wire.ParseReset(body)
		f.line("reset index=0x%x reason=%d", r.Index, r.Reason)
		f.again = wire.AppendReset(nil, r)
		return err
	case wire.TypePing, wire.TypePong, wire.TypeAck:
		return f.state(body)
	case wire.TypeRailSet:
		s, err := wire.ParseRailSet(body)
		f.line("railset generation=%d rails=0x%x", s.Generation, s.Rails)
		f.again = wire.AppendRailSet(nil, s)
		return err
	case wire.TypePosition, wire.TypeSkip:
		return f.marks(body)
	}
	return f.data(body)
}

func (f *frame) marks(body []byte) error {
	for len(body) > 0 {
		m, rest, err := wire.ParseMark(body)
		if err != nil {
			return err
		}
		f.line("mark channel=%d packet=%d", m.Channel, m.Packet)
		f.again = wire.AppendMark(f.again, m)
		body = rest
	}
	return nil
}

func (f *frame) data(body []byte) error {
	var d wire.Data
	var o wire.Offload
	payload, err := wire.ParseData(f.header.Flags, body, &d, &o)
	if err != nil {
		return err
	}
	f.line("data packet=%d offset=%d channel=%d total=%d stamp=%d", d.Packet, d.Offset, d.Channel, d.Total, d.Stamp)
	f.again = put(wire.DataLen, &d)
	if f.header.Flags&wire.FlagOffload != 0 {
		if err := o.Check(int(d.Total)); err != nil {
			return err
		}
		f.line("offload flags=%d gso_type=%d hdr_len=%d gso_size=%d csum_start=%d csum_offset=%d", o.Flags, o.GSOType,
			o.HdrLen, o.GSOSize, o.CsumStart, o.CsumOffset)
		f.again = append(f.again, put(wire.OffloadLen, &o)...)
	}
	f.line("payload %x", payload)
	f.again = append(f.again, payload...)
	return nil
}

func (f *frame) state(body []byte) error {
	var s wire.State
	body, err := wire.ParseState(body, &s)
	if err != nil {
		return err
	}
	f.line("state stamp=%d echo=%d heard=0x%x generation=%d rails=%d channels=%d", s.Stamp, s.Echo, s.Heard, s.Generation,
		s.Rails, s.Channels)
	f.again = put(wire.StateLen, &s)
	for range s.Rails {
		if body, err = f.railAck(body); err != nil {
			return err
		}
	}
	for range s.Channels {
		var a wire.ChannelAck
		if a, body, err = wire.ParseChannelAck(body); err != nil {
			return err
		}
		f.line("channel_ack channel=%d next=%d window=%d", a.Channel, a.Next, a.Window)
		f.again = wire.AppendChannelAck(f.again, a)
	}
	if len(body) > 0 {
		f.line("padding %d", len(body))
		f.again = append(f.again, body...)
	}
	return nil
}

func (f *frame) railAck(body []byte) (rest []byte, err error) {
	var a wire.RailAck
	rest, err = wire.ParseRailAck(body, &a)
	if err != nil {
		return nil, err
	}
	f.line("rail_ack rail=%d gaps=%d depth=%d next=%d credit=%d delay=%d", a.Rail, a.Count, a.Depth, a.Next, a.Credit, a.Delay)
	for _, g := range a.Gaps[:a.Count] {
		f.line("gap back=%d count=%d", g.Back, g.Count)
	}
	f.again = wire.AppendRailAck(f.again, &a)
	return rest, nil
}

func (f *frame) hello(body []byte) error {
	var h wire.Hello
	if err := wire.ParseHello(body, &h); err != nil {
		return err
	}
	f.line("hello nonce=0x%x echo=0x%x", h.Nonce, h.Echo)
	f.tlvs(&h, body[wire.HelloLen:])
	f.again = wire.AppendHello(nil, &h)
	return nil
}

// tlvs describes the TLVs in the order in which they came, known ones by what
// ParseHello made of them.
func (f *frame) tlvs(h *wire.Hello, b []byte) {
	for ; len(b) > 0; b = b[wire.TLVLen+int(b[1]):] {
		switch b[0] &^ wire.TLVCritical {
		case wire.TLVHost:
			f.line("tlv host %x", h.Host)
		case wire.TLVEpoch:
			f.line("tlv epoch %d", h.Epoch)
		case wire.TLVIndex:
			f.line("tlv index %d", h.Index)
		case wire.TLVService:
			f.line("tlv service %d", h.Service)
		case wire.TLVVersions:
			f.line("tlv versions %d %d", h.VersionLow, h.VersionHigh)
		case wire.TLVRail:
			f.line("tlv rail %d", h.Rail)
		case wire.TLVGroup:
			f.line("tlv group %d", h.Group)
		case wire.TLVMTU:
			f.line("tlv mtu %d", h.MTU)
		case wire.TLVRate:
			f.line("tlv rate %d", h.Rate)
		case wire.TLVCaps:
			f.line("tlv caps %d", h.Caps)
		case wire.TLVSlots:
			f.line("tlv slots %d", h.Slots)
		case wire.TLVName:
			f.line("tlv name %s", h.Name)
		default:
			f.line("tlv 0x%02x %x", b[0], b[wire.TLVLen:wire.TLVLen+int(b[1])])
		}
	}
}

// Reading and writing frames is done for each one on the wire.
func TestNoAllocation(t *testing.T) {
	buf := make([]byte, 0, 2048)
	var data, ack []byte
	for _, v := range readVectors(t) {
		switch v.name {
		case "data_offload_tcp4":
			data = v.bytes
		case "ack_gaps":
			ack = v.bytes
		}
	}
	var h wire.Header
	var d wire.Data
	var o wire.Offload
	var s wire.State
	var a wire.RailAck
	if got := testing.AllocsPerRun(100, func() {
		body, err := wire.ParseHeader(data, &h)
		if err != nil || wire.Sum(data[:wire.HeaderLen], body) != h.CRC {
			t.Fatal("data frame is not taken")
		}
		payload, err := wire.ParseData(h.Flags, body, &d, &o)
		if err != nil {
			t.Fatal(err)
		}
		b := buf[:wire.HeaderLen+wire.DataLen+wire.OffloadLen]
		h.Put(b)
		d.Put(b[wire.HeaderLen:])
		o.Put(b[wire.HeaderLen+wire.DataLen:])
		wire.Seal(b, payload)
	}); got != 0 {
		t.Errorf("DATA: %v allocations, want 0", got)
	}
	if got := testing.AllocsPerRun(100, func() {
		body, err := wire.ParseHeader(ack, &h)
		if err != nil {
			t.Fatal(err)
		}
		if body, err = wire.ParseState(body, &s); err != nil {
			t.Fatal(err)
		}
		b := buf[:wire.StateLen]
		s.Put(b)
		for range s.Rails {
			if body, err = wire.ParseRailAck(body, &a); err != nil {
				t.Fatal(err)
			}
			b = wire.AppendRailAck(b, &a)
		}
	}); got != 0 {
		t.Errorf("ACK: %v allocations, want 0", got)
	}
}
