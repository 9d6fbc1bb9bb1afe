// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"testing"
)

// FuzzFrame parses anything; what parses is encoded again to the same bytes.
func FuzzFrame(f *testing.F) {
	for _, v := range readVectors(f) {
		f.Add(v.bytes)
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		var h Header
		body, err := ParseHeader(frame, &h)
		if err != nil {
			return
		}
		again := make([]byte, HeaderLen)
		h.Put(again)
		if !bytes.Equal(again, frame[:HeaderLen]) {
			t.Errorf("header %x encodes to %x", frame[:HeaderLen], again)
		}
		if out, ok := reencode(&h, body); ok && !bytes.Equal(out, body) {
			t.Errorf("type %v: body %x encodes to %x", h.Type, body, out)
		}
	})
}

// reencode parses a body and encodes it; false if it does not parse. HELLO has
// a fuzz target of its own.
func reencode(h *Header, body []byte) (out []byte, ok bool) {
	switch h.Type {
	case TypeReset:
		r, err := ParseReset(body)
		return AppendReset(nil, r), err == nil
	case TypeRailSet:
		s, err := ParseRailSet(body)
		return AppendRailSet(nil, s), err == nil
	case TypePosition, TypeSkip:
		for len(body) > 0 {
			m, rest, err := ParseMark(body)
			if err != nil {
				return nil, false
			}
			out, body = AppendMark(out, m), rest
		}
		return out, true
	case TypePing, TypePong, TypeAck:
		return reencodeState(body)
	case TypeData:
		var d Data
		var o Offload
		payload, err := ParseData(h.Flags, body, &d, &o)
		out = make([]byte, DataLen, len(body))
		d.Put(out)
		if err == nil && h.Flags&FlagOffload != 0 {
			out = out[:DataLen+OffloadLen]
			o.Put(out[DataLen:])
		}
		return append(out, payload...), err == nil
	}
	return nil, false
}

func reencodeState(body []byte) (out []byte, ok bool) {
	var s State
	rest, err := ParseState(body, &s)
	if err != nil {
		return nil, false
	}
	out = make([]byte, StateLen)
	s.Put(out)
	for range s.Rails {
		var a RailAck
		if rest, err = ParseRailAck(rest, &a); err != nil {
			return nil, false
		}
		out = AppendRailAck(out, &a)
	}
	for range s.Channels {
		var a ChannelAck
		if a, rest, err = ParseChannelAck(rest); err != nil {
			return nil, false
		}
		out = AppendChannelAck(out, a)
	}
	return append(out, rest...), true
}

// FuzzHello parses anything; what parses says the same after another round.
func FuzzHello(f *testing.F) {
	for name, v := range readVectors(f) {
		if name == "hello" || name == "hello_ack" || name == "confirm" {
			f.Add(v.bytes[HeaderLen:])
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var h, again Hello
		if ParseHello(body, &h) != nil {
			return
		}
		if h.Slots == 0 {
			h.Slots = 1 // AppendHello always tells it
		}
		if err := ParseHello(AppendHello(nil, &h), &again); err != nil || again != h {
			t.Errorf("%+v became %+v (%v)", h, again, err)
		}
	})
}
