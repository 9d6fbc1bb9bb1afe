// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"errors"
	"strings"
	"testing"
)

func sampleHello() Hello {
	return Hello{Nonce: 1, Echo: 2, Host: [16]byte{3}, Epoch: 4, Index: 0x501, Service: ServiceVerbs, VersionLow: 1, VersionHigh: 2,
		Rail: 7, HasRail: true, Group: 8, MTU: 9000, Rate: 10, Caps: CapCRC, Slots: 64, Name: "node"}
}

func TestHelloRefusals(t *testing.T) {
	h := sampleHello()
	good := AppendHello(nil, &h)
	without := func(kind byte) []byte {
		out := append([]byte(nil), good[:HelloLen]...)
		for b := good[HelloLen:]; len(b) > 0; b = b[2+b[1]:] {
			if b[0] != kind {
				out = append(out, b[:2+b[1]]...)
			}
		}
		return out
	}
	with := func(tlv ...byte) []byte { return append(append([]byte(nil), good...), tlv...) }
	for _, c := range []struct {
		name string
		body []byte
		want error
	}{
		{"good", good, nil},
		{"empty", nil, ErrShort},
		{"cut in a TLV", good[:len(good)-1], ErrShort},
		{"cut in a TLV's head", with(1), ErrShort},
		{"no host", without(TLVHost), ErrTLVMissing},
		{"no epoch", without(TLVEpoch), ErrTLVMissing},
		{"no index", without(TLVIndex), ErrTLVMissing},
		{"no service", without(TLVService), ErrTLVMissing},
		{"no versions", without(TLVVersions), ErrTLVMissing},
		{"no MTU", without(TLVMTU), ErrTLVMissing},
		{"no caps", without(TLVCaps), ErrTLVMissing},
		{"no name", without(TLVName), nil},
		{"twice", with(TLVGroup, 8, 0, 0, 0, 0, 0, 0, 0, 0), ErrTLVTwice},
		{"wrong length", append(without(TLVRail), TLVRail, 2, 0, 0), ErrTLVLength},
		{"unknown", with(100, 1, 5), nil},
		{"unknown and critical", with(100|TLVCritical, 1, 5), ErrTLVCritical},
		{"known and marked critical", append(without(TLVRail), TLVRail|TLVCritical, 1, 3), nil},
		{"rail 64", append(without(TLVRail), TLVRail, 1, 64), ErrTLVValue},
		{"slots no power of two", append(without(TLVSlots), TLVSlots, 4, 3, 0, 0, 0), ErrTLVValue},
		{"index without random part", append(without(TLVIndex), TLVIndex, 4, 9, 0, 0, 0), ErrTLVValue},
		{"versions upside down", append(without(TLVVersions), TLVVersions, 2, 2, 1), ErrTLVValue},
		{"name too long", append(append(without(TLVName), TLVName, 64), strings.Repeat("x", 64)...), ErrTLVValue},
		{"name no UTF-8", append(without(TLVName), TLVName, 1, 0xff), ErrTLVValue},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got Hello
			if err := ParseHello(c.body, &got); !errors.Is(err, c.want) || c.want == nil && err != nil {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

func TestOffloadCheck(t *testing.T) {
	tcp := Offload{Flags: OffloadNeedsCsum, GSOType: GSOTCPv4, HdrLen: 54, GSOSize: 1448, CsumStart: 34, CsumOffset: 16}
	with := func(f func(*Offload)) Offload { o := tcp; f(&o); return o }
	for _, c := range []struct {
		name string
		o    Offload
		ok   bool
	}{
		{"TCP superpacket", tcp, true},
		{"nothing", Offload{}, true},
		{"ECN", with(func(o *Offload) { o.GSOType |= GSOECN }), true},
		{"unknown flag", with(func(o *Offload) { o.Flags |= 4 }), false},
		{"UDP fragmentation", with(func(o *Offload) { o.GSOType = 3 }), false},
		{"gso without size", with(func(o *Offload) { o.GSOSize = 0 }), false},
		{"gso without checksum", with(func(o *Offload) { o.Flags = 0 }), false},
		{"size without gso", Offload{GSOSize: 1}, false},
		{"checksum outside", with(func(o *Offload) { o.CsumStart = 65535 }), false},
		{"checksum across the end", with(func(o *Offload) { o.CsumStart, o.CsumOffset = 9983, 16 }), false},
		{"header outside", with(func(o *Offload) { o.HdrLen = 10001 }), false},
	} {
		if got := c.o.Check(10000) == nil; got != c.ok {
			t.Errorf("%s: taken %v, want %v", c.name, got, c.ok)
		}
	}
}

func TestHelloName(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"empty", "", ""},
		{"short", "nördlich", "nördlich"},
		{"longest", strings.Repeat("x", HostNameMax), strings.Repeat("x", HostNameMax)},
		{"too long", strings.Repeat("x", 300), strings.Repeat("x", HostNameMax)},
		{"cut between characters", strings.Repeat("x", HostNameMax-1) + "ö", strings.Repeat("x", HostNameMax-1)},
		{"no UTF-8", "a\xff\xfeb", "a?b"},
	} {
		h := sampleHello()
		h.Name = c.in
		var got Hello
		if err := ParseHello(AppendHello(nil, &h), &got); err != nil || got.Name != c.want {
			t.Errorf("%s: %q arrives as %q (%v), want %q", c.name, c.in, got.Name, err, c.want)
		}
	}
}

func TestHelloMissingIsNamed(t *testing.T) {
	err := ParseHello(make([]byte, HelloLen), new(Hello))
	if !errors.Is(err, ErrTLVMissing) || !strings.Contains(err.Error(), "type 1") {
		t.Errorf("got %v, want the first missing type named", err)
	}
}
