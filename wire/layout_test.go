// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/tbnet2/tbnet2/wire"
)

const header = "../kmod/tbnet2/uapi/tbnet2_wire.h"

// layout is test/vectors/layout.json, which C printed.
type layout struct {
	Constants map[string]uint64
	HelloMAC  []int `json:"hello_mac"`
	Sizes     map[string]int
	Fields    []struct {
		Struct, Field string
		Offset, Size  int
	}
}

func readLayout(t *testing.T) *layout {
	t.Helper()
	text, err := os.ReadFile("../test/vectors/layout.json")
	if err != nil {
		t.Fatal(err)
	}
	l := new(layout)
	if err := json.Unmarshal(text, l); err != nil {
		t.Fatal(err)
	}
	return l
}

// constants are the mirror's numbers by their names in C.
var constants = map[string]uint64{
	"TBNET2_ETHERTYPE": wire.EtherType, "TBNET2_VERSION": wire.Version, "TBNET2_UNIT": wire.Unit,
	"TBNET2_PACKET_MAX": wire.PacketMax, "TBNET2_CHANNELS": wire.Channels, "TBNET2_RAILS_MAX": wire.RailsMax,
	"TBNET2_HOST_NAME_MAX": wire.HostNameMax, "TBNET2_GAPS_MAX": wire.GapsMax,

	"TBNET2_HELLO": uint64(wire.TypeHello), "TBNET2_HELLO_ACK": uint64(wire.TypeHelloAck),
	"TBNET2_CONFIRM": uint64(wire.TypeConfirm), "TBNET2_RESET": uint64(wire.TypeReset),
	"TBNET2_PING": uint64(wire.TypePing), "TBNET2_PONG": uint64(wire.TypePong), "TBNET2_ACK": uint64(wire.TypeAck),
	"TBNET2_RAILSET": uint64(wire.TypeRailSet), "TBNET2_POSITION": uint64(wire.TypePosition),
	"TBNET2_SKIP": uint64(wire.TypeSkip), "TBNET2_DATA": uint64(wire.TypeData),

	"TBNET2_F_CRC": wire.FlagCRC, "TBNET2_F_OFFLOAD": wire.FlagOffload, "TBNET2_F_RESENT": wire.FlagResent,
	"TBNET2_F_ACK": wire.FlagAck,

	"TBNET2_RESET_UNKNOWN": wire.ResetUnknown, "TBNET2_RESET_CLOSING": wire.ResetClosing,

	"TBNET2_TLV_CRITICAL": wire.TLVCritical, "TBNET2_TLV_HOST": wire.TLVHost, "TBNET2_TLV_EPOCH": wire.TLVEpoch,
	"TBNET2_TLV_INDEX": wire.TLVIndex, "TBNET2_TLV_SERVICE": wire.TLVService, "TBNET2_TLV_VERSIONS": wire.TLVVersions,
	"TBNET2_TLV_RAIL": wire.TLVRail, "TBNET2_TLV_GROUP": wire.TLVGroup, "TBNET2_TLV_MTU": wire.TLVMTU,
	"TBNET2_TLV_RATE": wire.TLVRate, "TBNET2_TLV_CAPS": wire.TLVCaps, "TBNET2_TLV_SLOTS": wire.TLVSlots,
	"TBNET2_TLV_NAME": wire.TLVName, "TBNET2_TLV_MAC": wire.TLVMAC,

	"TBNET2_SERVICE_ETHERNET": uint64(wire.ServiceEthernet), "TBNET2_SERVICE_VERBS": uint64(wire.ServiceVerbs),
	"TBNET2_SERVICE_TEST":   uint64(wire.ServiceTest),
	"TBNET2_CAP_RETRANSMIT": uint64(wire.CapRetransmit), "TBNET2_CAP_CRC": uint64(wire.CapCRC),
	"TBNET2_CAP_OFFLOAD": uint64(wire.CapOffload),
}

func TestConstants(t *testing.T) {
	l := readLayout(t)
	if len(l.Constants) == 0 {
		t.Fatal("layout.json has no constants")
	}
	for name, want := range l.Constants {
		if got, ok := constants[name]; !ok || got != want {
			t.Errorf("%s: wire has %d (known: %v), C has %d", name, got, ok, want)
		}
	}
	for name := range constants {
		if _, ok := l.Constants[name]; !ok {
			t.Errorf("%s is no longer in layout.json", name)
		}
	}
	for i, want := range l.HelloMAC {
		if int(wire.HelloMAC[i]) != want {
			t.Errorf("HelloMAC[%d] = %#x, C has %#x", i, wire.HelloMAC[i], want)
		}
	}
	if len(l.HelloMAC) != len(wire.HelloMAC) {
		t.Errorf("HelloMAC has %d bytes, C has %d", len(wire.HelloMAC), len(l.HelloMAC))
	}
}

func TestSizes(t *testing.T) {
	got := map[string]int{"hdr": wire.HeaderLen, "data": wire.DataLen, "offload": wire.OffloadLen, "state": wire.StateLen,
		"rail_ack": wire.RailAckLen, "gap": wire.GapLen, "channel_ack": wire.ChannelAckLen, "railset": wire.RailSetLen,
		"mark": wire.MarkLen, "hello": wire.HelloLen, "reset": wire.ResetLen, "tlv": wire.TLVLen}
	want := readLayout(t).Sizes
	if len(got) != len(want) {
		t.Errorf("wire has %d structs, C has %d", len(got), len(want))
	}
	for name, size := range want {
		if got[name] != size {
			t.Errorf("%s is %d bytes, C has %d", name, got[name], size)
		}
	}
}

// Numbers and fields of the header, found in its text, must be in layout.json,
// so that what is added there is checked here.
func TestLayoutIsComplete(t *testing.T) {
	text, err := os.ReadFile(header)
	if err != nil {
		t.Fatal(err)
	}
	l := readLayout(t)
	number := regexp.MustCompile(`(?m)^(?:#define\s+|\t)(TBNET2_\w+)\s*(?:=\s*\S|\s(?:0x)?\d)`)
	found := number.FindAllSubmatch(text, -1)
	if len(found) != len(l.Constants) {
		t.Errorf("the header has %d numbers, layout.json has %d", len(found), len(l.Constants))
	}
	for _, match := range found {
		if _, ok := l.Constants[string(match[1])]; !ok {
			t.Errorf("%s is not in layout.json: add it to test/vectors/gen/layout.c", match[1])
		}
	}
	fields := 0
	body := regexp.MustCompile(`(?s)\nstruct tbnet2_(\w+) \{\n(.*?)\n\};`)
	member := regexp.MustCompile(`(?m)^\t__\w+\t(\w+)(?:\[\d+\])?;`)
	for _, s := range body.FindAllSubmatch(text, -1) {
		for _, m := range member.FindAllSubmatch(s[2], -1) {
			fields++
			if !slices.ContainsFunc(l.Fields, func(f struct {
				Struct, Field string
				Offset, Size  int
			}) bool {
				return f.Struct == string(s[1]) && f.Field == string(m[1])
			}) {
				t.Errorf("%s.%s is not in layout.json: add it to test/vectors/gen/layout.c", s[1], m[1])
			}
		}
	}
	if fields != len(l.Fields) {
		t.Errorf("the header has %d fields, layout.json has %d", fields, len(l.Fields))
	}
}

// write encodes one struct with one field set to v and the others zero.
type write func(v uint64) []byte

// put gives what a Put method writes.
func put(size int, v interface{ Put([]byte) }) []byte {
	b := make([]byte, size)
	v.Put(b)
	return b
}

func railAck(a wire.RailAck) []byte { return wire.AppendRailAck(nil, &a) }

// reserved marks fields that are always zero, which TestReserved holds.
var reserved write

// writers has a writer for each field of each struct.
var writers = map[string]write{
	"hdr.version_type": func(v uint64) []byte { return put(wire.HeaderLen, &wire.Header{Type: wire.Type(v & 0x0f)}) },
	"hdr.flags":        func(v uint64) []byte { return put(wire.HeaderLen, &wire.Header{Flags: uint8(v)}) },
	"hdr.length":       func(v uint64) []byte { return put(wire.HeaderLen, &wire.Header{Length: uint16(v)}) },
	"hdr.index":        func(v uint64) []byte { return put(wire.HeaderLen, &wire.Header{Index: uint32(v)}) },
	"hdr.rail_seq":     func(v uint64) []byte { return put(wire.HeaderLen, &wire.Header{RailSeq: uint32(v)}) },
	"hdr.crc":          func(v uint64) []byte { return put(wire.HeaderLen, &wire.Header{CRC: uint32(v)}) },

	"data.packet":   func(v uint64) []byte { return put(wire.DataLen, &wire.Data{Packet: uint32(v)}) },
	"data.offset":   func(v uint64) []byte { return put(wire.DataLen, &wire.Data{Offset: uint16(v)}) },
	"data.channel":  func(v uint64) []byte { return put(wire.DataLen, &wire.Data{Channel: uint8(v)}) },
	"data.total":    func(v uint64) []byte { return put(wire.DataLen, &wire.Data{Total: uint32(v)}) },
	"data.stamp":    func(v uint64) []byte { return put(wire.DataLen, &wire.Data{Stamp: uint32(v)}) },
	"data.reserved": reserved,

	"offload.flags":       func(v uint64) []byte { return put(wire.OffloadLen, &wire.Offload{Flags: uint8(v)}) },
	"offload.gso_type":    func(v uint64) []byte { return put(wire.OffloadLen, &wire.Offload{GSOType: uint8(v)}) },
	"offload.hdr_len":     func(v uint64) []byte { return put(wire.OffloadLen, &wire.Offload{HdrLen: uint16(v)}) },
	"offload.gso_size":    func(v uint64) []byte { return put(wire.OffloadLen, &wire.Offload{GSOSize: uint16(v)}) },
	"offload.csum_start":  func(v uint64) []byte { return put(wire.OffloadLen, &wire.Offload{CsumStart: uint16(v)}) },
	"offload.csum_offset": func(v uint64) []byte { return put(wire.OffloadLen, &wire.Offload{CsumOffset: uint16(v)}) },
	"offload.reserved":    reserved,

	"state.stamp":      func(v uint64) []byte { return put(wire.StateLen, &wire.State{Stamp: uint32(v)}) },
	"state.echo":       func(v uint64) []byte { return put(wire.StateLen, &wire.State{Echo: uint32(v)}) },
	"state.heard":      func(v uint64) []byte { return put(wire.StateLen, &wire.State{Heard: v}) },
	"state.generation": func(v uint64) []byte { return put(wire.StateLen, &wire.State{Generation: uint32(v)}) },
	"state.rails":      func(v uint64) []byte { return put(wire.StateLen, &wire.State{Rails: uint8(v)}) },
	"state.channels":   func(v uint64) []byte { return put(wire.StateLen, &wire.State{Channels: uint8(v)}) },
	"state.reserved":   reserved,

	"rail_ack.rail": func(v uint64) []byte { return railAck(wire.RailAck{Rail: uint8(v)}) },
	"rail_ack.gaps": func(v uint64) []byte {
		return railAck(wire.RailAck{Count: uint8(v % wire.GapsMax)})[:wire.RailAckLen]
	},
	"rail_ack.depth":  func(v uint64) []byte { return railAck(wire.RailAck{Depth: uint16(v)}) },
	"rail_ack.next":   func(v uint64) []byte { return railAck(wire.RailAck{Next: uint32(v)}) },
	"rail_ack.credit": func(v uint64) []byte { return railAck(wire.RailAck{Credit: uint32(v)}) },
	"rail_ack.delay":  func(v uint64) []byte { return railAck(wire.RailAck{Delay: uint32(v)}) },
	"gap.back": func(v uint64) []byte {
		return railAck(wire.RailAck{Count: 1, Gaps: [wire.GapsMax]wire.Gap{{Back: uint16(v)}}})[wire.RailAckLen:]
	},
	"gap.count": func(v uint64) []byte {
		return railAck(wire.RailAck{Count: 1, Gaps: [wire.GapsMax]wire.Gap{{Count: uint16(v)}}})[wire.RailAckLen:]
	},

	"channel_ack.channel": func(v uint64) []byte {
		return wire.AppendChannelAck(nil, wire.ChannelAck{Channel: uint8(v)})
	},
	"channel_ack.next": func(v uint64) []byte { return wire.AppendChannelAck(nil, wire.ChannelAck{Next: uint32(v)}) },
	"channel_ack.window": func(v uint64) []byte {
		return wire.AppendChannelAck(nil, wire.ChannelAck{Window: uint32(v)})
	},
	"channel_ack.reserved": reserved,

	"railset.generation": func(v uint64) []byte { return wire.AppendRailSet(nil, wire.RailSet{Generation: uint32(v)}) },
	"railset.rails":      func(v uint64) []byte { return wire.AppendRailSet(nil, wire.RailSet{Rails: v}) },
	"railset.reserved":   reserved,

	"mark.channel":  func(v uint64) []byte { return wire.AppendMark(nil, wire.Mark{Channel: uint8(v)}) },
	"mark.packet":   func(v uint64) []byte { return wire.AppendMark(nil, wire.Mark{Packet: uint32(v)}) },
	"mark.reserved": reserved,

	"hello.nonce": func(v uint64) []byte { return wire.AppendHello(nil, &wire.Hello{Nonce: v})[:wire.HelloLen] },
	"hello.echo":  func(v uint64) []byte { return wire.AppendHello(nil, &wire.Hello{Echo: v})[:wire.HelloLen] },

	"reset.index":    func(v uint64) []byte { return wire.AppendReset(nil, wire.Reset{Index: uint32(v)}) },
	"reset.reason":   func(v uint64) []byte { return wire.AppendReset(nil, wire.Reset{Reason: uint8(v)}) },
	"reset.reserved": reserved,

	// A TLV has no struct in Go; that HOST is the first in a HELLO shows its place.
	"tlv.type":   func(uint64) []byte { return tlvHeader() },
	"tlv.length": func(uint64) []byte { return tlvHeader() },
}

func tlvHeader() []byte {
	return wire.AppendHello(nil, new(wire.Hello))[wire.HelloLen : wire.HelloLen+wire.TLVLen]
}

// Each field is written at its offset, in its size, little-endian, and touches
// nothing else.
func TestOffsets(t *testing.T) {
	l := readLayout(t)
	for _, f := range l.Fields {
		name := f.Struct + "." + f.Field
		w, ok := writers[name]
		switch {
		case !ok:
			t.Errorf("%s has no writer here", name)
			continue
		case w == nil:
			continue
		case f.Struct == "tlv":
			want := map[string]byte{"type": wire.TLVHost, "length": 16}[f.Field]
			if got := w(0)[f.Offset]; got != want || f.Size != 1 {
				t.Errorf("%s at %d is %d of 1 byte, want %d of %d", name, f.Offset, got, want, f.Size)
			}
			continue
		}
		const pattern = 0x0807060504030201
		got, want := w(pattern), w(0)
		if len(got) != l.Sizes[f.Struct] {
			t.Errorf("%s: struct of %d bytes, C has %d", name, len(got), l.Sizes[f.Struct])
			continue
		}
		for i := range f.Size {
			want[f.Offset+i] |= byte(i + 1)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s = %#x:\n got %x\nwant %x", name, uint64(pattern), got, want)
		}
	}
	if len(writers) != len(l.Fields) {
		t.Errorf("%d writers for %d fields", len(writers), len(l.Fields))
	}
}

// Every byte of a reserved field that is not zero is refused.
func TestReserved(t *testing.T) {
	l := readLayout(t)
	parsers := map[string]func(b []byte) error{
		"data": func(b []byte) error {
			_, err := wire.ParseData(0, b, new(wire.Data), new(wire.Offload))
			return err
		},
		"offload": func(b []byte) error {
			_, err := wire.ParseData(wire.FlagOffload, append(make([]byte, wire.DataLen), b...), new(wire.Data), new(wire.Offload))
			return err
		},
		"state":       func(b []byte) error { _, err := wire.ParseState(b, new(wire.State)); return err },
		"channel_ack": func(b []byte) error { _, _, err := wire.ParseChannelAck(b); return err },
		"railset":     func(b []byte) error { _, err := wire.ParseRailSet(b); return err },
		"mark":        func(b []byte) error { _, _, err := wire.ParseMark(b); return err },
		"reset":       func(b []byte) error { _, err := wire.ParseReset(b); return err },
	}
	checked := 0
	for _, f := range l.Fields {
		if f.Field != "reserved" {
			continue
		}
		parse := parsers[f.Struct]
		if parse == nil {
			t.Errorf("no parser for %s here", f.Struct)
			continue
		}
		if err := parse(make([]byte, l.Sizes[f.Struct])); err != nil {
			t.Errorf("%s of zeros: %v", f.Struct, err)
		}
		for i := range f.Size {
			b := make([]byte, l.Sizes[f.Struct])
			b[f.Offset+i] = 0x80
			if err := parse(b); !errors.Is(err, wire.ErrReserved) {
				t.Errorf("%s with byte %d set: %v, want %v", f.Struct, f.Offset+i, err, wire.ErrReserved)
			}
			checked++
		}
	}
	if checked < len(parsers) {
		t.Errorf("only %d reserved bytes checked", checked)
	}
}
