// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestLayout holds every number of this package against what the C header says.
func TestLayout(t *testing.T) {
	raw, err := os.ReadFile("../test/vectors/layout.json")
	if err != nil {
		t.Fatal(err)
	}
	var c map[string]json.RawMessage
	if err := json.Unmarshal(raw, &c); err != nil {
		t.Fatal(err)
	}
	checked := map[string]bool{}
	for name, want := range goNumbers {
		var got uint64
		if err := json.Unmarshal(c[name], &got); err != nil || got != want {
			t.Errorf("%s: C has %s, Go %d", name, c[name], want)
		}
		checked[name] = true
	}
	for name := range c {
		if !strings.Contains(name, ".") && name != "sizeof tbnet2_gap" && !checked[name] {
			t.Errorf("%s is not mirrored here", name)
		}
	}
}

var goNumbers = map[string]uint64{
	"sizeof tbnet2_hdr": HeaderLen, "sizeof tbnet2_data": DataLen, "sizeof tbnet2_offload": OffloadLen,
	"sizeof tbnet2_state": StateLen, "sizeof tbnet2_rail_ack": RailAckLen, "sizeof tbnet2_gap": GapLen,
	"sizeof tbnet2_channel_ack": ChannelAckLen, "sizeof tbnet2_railset": RailSetLen, "sizeof tbnet2_mark": MarkLen,
	"sizeof tbnet2_hello": HelloLen, "sizeof tbnet2_reset": ResetLen, "sizeof tbnet2_tlv": TLVLen,
	"TBNET2_ETHERTYPE": EtherType, "TBNET2_VERSION": Version, "TBNET2_UNIT": Unit, "TBNET2_PACKET_MAX": PacketMax,
	"TBNET2_CHANNELS": Channels, "TBNET2_RAILS_MAX": RailsMax, "TBNET2_HOST_NAME_MAX": HostNameMax, "TBNET2_GAPS_MAX": GapsMax,
	"TBNET2_HELLO": uint64(TypeHello), "TBNET2_HELLO_ACK": uint64(TypeHelloAck), "TBNET2_CONFIRM": uint64(TypeConfirm),
	"TBNET2_RESET": uint64(TypeReset), "TBNET2_PING": uint64(TypePing), "TBNET2_PONG": uint64(TypePong),
	"TBNET2_ACK": uint64(TypeAck), "TBNET2_RAILSET": uint64(TypeRailSet), "TBNET2_POSITION": uint64(TypePosition),
	"TBNET2_SKIP": uint64(TypeSkip), "TBNET2_DATA": uint64(TypeData),
	"TBNET2_F_CRC": FlagCRC, "TBNET2_F_OFFLOAD": FlagOffload, "TBNET2_F_RESENT": FlagResent, "TBNET2_F_ACK": FlagAck,
	"TBNET2_RESET_UNKNOWN": ResetUnknown, "TBNET2_RESET_CLOSING": ResetClosing, "TBNET2_TLV_CRITICAL": TLVCritical,
	"TBNET2_TLV_HOST": TLVHost, "TBNET2_TLV_EPOCH": TLVEpoch, "TBNET2_TLV_INDEX": TLVIndex, "TBNET2_TLV_SERVICE": TLVService,
	"TBNET2_TLV_VERSIONS": TLVVersions, "TBNET2_TLV_RAIL": TLVRail, "TBNET2_TLV_GROUP": TLVGroup, "TBNET2_TLV_MTU": TLVMTU,
	"TBNET2_TLV_RATE": TLVRate, "TBNET2_TLV_CAPS": TLVCaps, "TBNET2_TLV_SLOTS": TLVSlots, "TBNET2_TLV_NAME": TLVName, "TBNET2_TLV_MAC": TLVMAC,
	"TBNET2_SERVICE_ETHERNET": uint64(ServiceEthernet), "TBNET2_SERVICE_VERBS": uint64(ServiceVerbs), "TBNET2_SERVICE_TEST": uint64(ServiceTest),
	"TBNET2_CAP_RETRANSMIT": uint64(CapRetransmit), "TBNET2_CAP_CRC": uint64(CapCRC), "TBNET2_CAP_OFFLOAD": uint64(CapOffload),
}

// vector is a frame of frames.txt: its fields by name, and its bytes.
type vector struct {
	fields map[string]string
	bytes  []byte
}

func readVectors(t testing.TB) map[string]vector {
	raw, err := os.ReadFile("../test/vectors/frames.txt")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]vector{}
	for _, block := range strings.Split(strings.TrimSpace(string(raw)), "\n\n") {
		v := vector{fields: map[string]string{}}
		for _, line := range strings.Split(block, "\n") {
			name, value, _ := strings.Cut(line, " ")
			v.fields[name] = value
		}
		if v.bytes, err = hex.DecodeString(v.fields["hex"]); err != nil {
			t.Fatal(err)
		}
		out[v.fields["frame"]] = v
	}
	return out
}

// TestFrames decodes every frame that C has made, compares the fields, and
// encodes it again to the same bytes.
func TestFrames(t *testing.T) {
	vectors := readVectors(t)
	if len(vectors) < int(typeEnd) {
		t.Fatalf("%d vectors for %d frame types", len(vectors), typeEnd)
	}
	for name, v := range vectors {
		t.Run(name, func(t *testing.T) {
			fields, again := decode(t, v.bytes)
			for field, want := range v.fields {
				if field == "frame" || field == "hex" {
					continue
				}
				if got := fields[field]; got != want {
					t.Errorf("%s: got %q, want %q", field, got, want)
				}
			}
			if !bytes.Equal(again, v.bytes) {
				t.Errorf("encoded again:\n%x\nwant\n%x", again, v.bytes)
			}
		})
	}
}

// decode gives the fields of a frame by the vectors' names, and the frame
// encoded again.
func decode(t *testing.T, frame []byte) (fields map[string]string, again []byte) {
	t.Helper()
	var h Header
	body, err := ParseHeader(frame, &h)
	if err != nil {
		t.Fatal(err)
	}
	if h.Flags&FlagCRC != 0 && Sum(frame[:HeaderLen], body) != h.CRC {
		t.Error("CRC differs")
	}
	fields = map[string]string{}
	set := func(name string, value any) { fields[name] = fmt.Sprint(value) }
	set("type", uint8(h.Type))
	set("flags", h.Flags)
	set("index", h.Index)
	set("rail_seq", h.RailSeq)
	set("length", h.Length)
	set("crc", h.CRC)
	again = make([]byte, HeaderLen)
	h.Put(again)
	switch h.Type {
	case TypeHello, TypeHelloAck, TypeConfirm:
		again = append(again, decodeHello(t, body, set)...)
	case TypeReset:
		r, err := ParseReset(body)
		check(t, err)
		set("reset_index", r.Index)
		set("reason", r.Reason)
		again = AppendReset(again, r)
	case TypePing, TypePong, TypeAck:
		again = append(again, decodeState(t, body, set)...)
	case TypeRailSet:
		s, err := ParseRailSet(body)
		check(t, err)
		set("generation", s.Generation)
		set("rails", s.Rails)
		again = AppendRailSet(again, s)
	case TypePosition, TypeSkip:
		for i := 0; len(body) > 0; i++ {
			var m Mark
			m, body, err = ParseMark(body)
			check(t, err)
			set(fmt.Sprintf("mark%d", i), fmt.Sprint(m.Channel, m.Packet))
			again = AppendMark(again, m)
		}
	case TypeData:
		again = append(again, decodeData(t, h.Flags, body, set)...)
	}
	return fields, again
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func decodeHello(t *testing.T, body []byte, set func(string, any)) []byte {
	var m Hello
	check(t, ParseHello(body, &m))
	set("nonce", m.Nonce)
	set("echo", m.Echo)
	set("own_index", m.Index)
	set("mtu", m.MTU)
	set("rate", m.Rate)
	if m.HasRail {
		set("rail", m.Rail)
	}
	return AppendHello(nil, &m)
}

func decodeState(t *testing.T, body []byte, set func(string, any)) []byte {
	var s State
	rest, err := ParseState(body, &s)
	check(t, err)
	set("stamp", s.Stamp)
	set("echo", s.Echo)
	set("heard", s.Heard)
	set("generation", s.Generation)
	again := make([]byte, StateLen)
	s.Put(again)
	for i := range s.Rails {
		var a RailAck
		rest, err = ParseRailAck(rest, &a)
		check(t, err)
		text := fmt.Sprint(a.Rail, a.Depth, a.Next, a.Credit, a.Delay)
		for _, g := range a.Gaps[:a.Count] {
			text += fmt.Sprintf(" %d/%d", g.Back, g.Count)
		}
		set(fmt.Sprintf("rail%d", i), text)
		again = AppendRailAck(again, &a)
	}
	for i := range s.Channels {
		var a ChannelAck
		a, rest, err = ParseChannelAck(rest)
		check(t, err)
		set(fmt.Sprintf("channel%d", i), fmt.Sprint(a.Channel, a.Next, a.Window))
		again = AppendChannelAck(again, a)
	}
	return append(again, rest...)
}

func decodeData(t *testing.T, flags uint8, body []byte, set func(string, any)) []byte {
	var d Data
	var o Offload
	payload, err := ParseData(flags, body, &d, &o)
	check(t, err)
	set("packet", d.Packet)
	set("offset", int(d.Offset)*Unit)
	set("channel", d.Channel)
	set("total", d.Total)
	set("stamp", d.Stamp)
	set("payload", len(payload))
	again := make([]byte, DataLen)
	d.Put(again)
	if flags&FlagOffload != 0 {
		set("offload", fmt.Sprint(o.Flags, o.GSOType, o.HdrLen, o.GSOSize, o.CsumStart, o.CsumOffset))
		b := make([]byte, OffloadLen)
		o.Put(b)
		again = append(again, b...)
	}
	return append(again, payload...)
}
