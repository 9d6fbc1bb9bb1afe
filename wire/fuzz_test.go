// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/tbnet2/tbnet2/wire"
)

// stable reads what f writes: it must say the same, and be written the same.
func stable(t *testing.T, f *frame) {
	t.Helper()
	f.header.Flags &^= wire.FlagCRC // that of other bytes
	once := f.encode()
	again, err := decode(once)
	if err != nil {
		t.Fatalf("%x was written from a good frame and is refused: %v", once, err)
	}
	if twice := again.encode(); !bytes.Equal(once, twice) {
		t.Errorf("written once %x, twice %x", once, twice)
	}
	if isHello(f.header.Type) {
		return // TLVs that we do not know, or in another order, are not written again
	}
	if !slices.Equal(f.lines[1:], again.lines[1:]) {
		t.Errorf("%q became %q", f.lines, again.lines)
	}
}

func isHello(kind wire.Type) bool { return kind <= wire.TypeConfirm }

// FuzzFrame reads anything as a receiver does. What is taken is written again
// to the same bytes, whatever its type.
func FuzzFrame(f *testing.F) {
	for _, v := range readVectors(f) {
		f.Add(v.bytes)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := decode(b)
		if err != nil {
			return
		}
		length := wire.HeaderLen + int(got.header.Length)
		if again := got.encode(); !isHello(got.header.Type) && !bytes.Equal(again, b[:length]) {
			t.Errorf("%x was written again as %x", b[:length], again)
		}
		stable(t, got)
	})
}

// FuzzBody does the same for bodies behind a header that is always right, so
// that no length or CRC keeps the fuzzer from them.
func FuzzBody(f *testing.F) {
	for _, v := range readVectors(f) {
		if len(v.bytes) > wire.HeaderLen {
			f.Add(v.bytes[0], v.bytes[1], v.bytes[wire.HeaderLen:])
		}
	}
	f.Fuzz(func(t *testing.T, kind, flags byte, body []byte) {
		if len(body) > 1<<16-1 {
			return
		}
		got := &frame{header: wire.Header{Type: wire.Type(kind) % (wire.TypeData + 1), Flags: flags & (wire.FlagOffload | wire.FlagAck)}}
		got.line("hdr")
		if got.body(body) != nil {
			return
		}
		if !isHello(got.header.Type) && !bytes.Equal(got.again, body) {
			t.Errorf("%v: %x was written again as %x", got.header.Type, body, got.again)
		}
		stable(t, got)
	})
}

// FuzzHello reads any body. What is taken keeps its meaning when written, and
// holds what the rest of the program relies on.
func FuzzHello(f *testing.F) {
	for _, v := range readVectors(f) {
		if len(v.bytes) > wire.HeaderLen && isHello(wire.Type(v.bytes[0]&0x0f)) {
			f.Add(v.bytes[wire.HeaderLen:])
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var h, again wire.Hello
		if wire.ParseHello(body, &h) != nil {
			return
		}
		if h.Index>>8 == 0 || h.VersionLow > h.VersionHigh || h.Rail >= wire.RailsMax || len(h.Name) > wire.HostNameMax ||
			h.Slots&(h.Slots-1) != 0 {
			t.Errorf("%+v was taken", h)
		}
		if err := wire.ParseHello(wire.AppendHello(nil, &h), &again); err != nil || again != h {
			t.Errorf("%+v became %+v (%v)", h, again, err)
		}
	})
}

// FuzzOffload checks that a descriptor that is taken stays in its packet.
func FuzzOffload(f *testing.F) {
	f.Add(uint8(1), uint8(1), uint16(54), uint16(1448), uint16(34), uint16(16), 65000)
	f.Add(uint8(1), uint8(0x84), uint16(74), uint16(1), uint16(65535), uint16(65535), 60)
	f.Fuzz(func(t *testing.T, flags, gso uint8, hdrLen, gsoSize, start, offset uint16, total int) {
		o := wire.Offload{Flags: flags, GSOType: gso, HdrLen: hdrLen, GSOSize: gsoSize, CsumStart: start, CsumOffset: offset}
		if o.Check(total) != nil {
			return
		}
		if flags&wire.OffloadNeedsCsum != 0 && int(start)+int(offset)+2 > total {
			t.Errorf("%+v writes its checksum outside of %d bytes", o, total)
		}
		if int(hdrLen) > total {
			t.Errorf("%+v has a header beyond %d bytes", o, total)
		}
		if gso != 0 && gsoSize == 0 {
			t.Errorf("%+v cuts segments of no size", o)
		}
	})
}
