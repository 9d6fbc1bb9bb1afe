// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"errors"
	"testing"
)

func sample() Header {
	return Header{Dst: 0x112233, Src: 0x445566, Message: 7, Op: Write, Flags: FlagImmediate | FlagSolicited, Attempt: 3,
		Length: 5, Receive: 9, Total: 100, Offset: 64, Imm: 0xdeadbeef, Addr: 1 << 40, Key: 0xfeedface}
}

func TestLayout(t *testing.T) {
	h := sample()
	var b [HeaderLen]byte
	h.Put(b[:])
	want := [HeaderLen]byte{0x33, 0x22, 0x11, 0, 0x66, 0x55, 0x44, 0, 7, 0, 0, 0, 0x88, 0xb6, 1, 2, 3, 3, 0, 0,
		5, 0, 0, 0, 9, 0, 0, 0, 100, 0, 0, 0, 64, 0, 0, 0, 0xef, 0xbe, 0xad, 0xde, 0, 0, 0, 0, 0, 1, 0, 0,
		0xce, 0xfa, 0xed, 0xfe}
	if b != want {
		t.Errorf("got % x\nwant % x", b, want)
	}
	var back Header
	if err := back.Parse(b[:], HeaderLen+5); err != nil || back != h {
		t.Errorf("got %+v, %v, want %+v", back, err, h)
	}
}

func TestParseRefuses(t *testing.T) {
	cases := []struct {
		name   string
		change func(*Header)
		want   error
	}{
		{"no op", func(h *Header) { h.Op = 0 }, ErrUnknown},
		{"unknown op", func(h *Header) { h.Op = opEnd }, ErrUnknown},
		{"unknown flag", func(h *Header) { h.Flags = 0x80 }, ErrUnknown},
		{"syndrome without nak", func(h *Header) { h.Syndrome = NotReady }, ErrUnknown},
		{"queue pair", func(h *Header) { h.Dst = QPNMax }, ErrBounds},
		{"message too long", func(h *Header) { h.Total = MaxMessage + 1 }, ErrBounds},
		{"beyond the message", func(h *Header) { h.Offset = 96 }, ErrBounds},
		{"offset beyond", func(h *Header) { h.Offset = 0xffffffff }, ErrBounds},
		{"length lies", func(h *Header) { h.Length = 6 }, ErrShort},
		{"unaligned atomic", func(h *Header) { h.Op, h.Addr = FetchAdd, 4 }, ErrBounds},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h := sample()
			c.change(&h)
			var b [HeaderLen]byte
			h.Put(b[:])
			if err := h.Parse(b[:], HeaderLen+5); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	h := sample()
	var b [HeaderLen + 5]byte
	h.Put(b[:])
	f.Add(b[:])
	f.Fuzz(func(t *testing.T, b []byte) {
		var h Header
		if h.Parse(b, len(b)) != nil {
			return
		}
		if h.Op != ReadRequest && uint64(h.Offset)+uint64(h.Length) > uint64(h.Total) {
			t.Errorf("payload beyond the message: %+v", h)
		}
		var out [HeaderLen]byte
		h.Put(out[:])
		var again Header
		if err := again.Parse(out[:], len(b)); err != nil || again != h {
			t.Errorf("got %+v, %v, want %+v", again, err, h)
		}
	})
}
