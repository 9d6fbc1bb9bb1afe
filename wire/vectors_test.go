// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tbnet2/tbnet2/wire"
)

// vector is a frame of frames.txt.
type vector struct {
	name   string
	lines  []string // what its fields hold
	refuse string   // reason, instead of lines
	bytes  []byte
}

// readVectors reads test/vectors/frames.txt; its README tells the form.
func readVectors(t testing.TB) []vector {
	t.Helper()
	text, err := os.ReadFile("../test/vectors/frames.txt")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []vector
	v := new(vector)
	for number, line := range strings.Split(string(text), "\n") {
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "#", "":
		case "frame":
			v.name = rest
		case "refuse":
			v.refuse = rest
		case "bytes":
			if v.bytes, err = hex.DecodeString(rest); err != nil {
				t.Fatalf("line %d: %v", number+1, err)
			}
			vectors = append(vectors, *v)
			v = new(vector)
		default:
			v.lines = append(v.lines, line)
		}
	}
	return vectors
}

// reasons are the errors by their names in frames.txt.
var reasons = map[string]error{
	"short": wire.ErrShort, "version": wire.ErrVersion, "type": wire.ErrType, "reserved": wire.ErrReserved,
	"crc": errCRC, "offload": wire.ErrOffload, "tlv_length": wire.ErrTLVLength, "tlv_twice": wire.ErrTLVTwice,
	"tlv_missing": wire.ErrTLVMissing, "tlv_critical": wire.ErrTLVCritical, "tlv_value": wire.ErrTLVValue,
}

// Every frame that C made is read as C says, and written again to the same
// bytes; those that must be refused are, for the reason C gives.
func TestVectors(t *testing.T) {
	types := map[wire.Type]bool{}
	refused := map[string]bool{}
	for _, v := range readVectors(t) {
		t.Run(v.name, func(t *testing.T) {
			got, err := decode(v.bytes)
			if v.refuse != "" {
				refused[v.refuse] = true
				if want := reasons[v.refuse]; want == nil || !errors.Is(err, want) {
					t.Errorf("error %v, want %q", err, v.refuse)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			types[got.header.Type] = true
			if diff := cmp.Diff(v.lines, got.lines); diff != "" {
				t.Errorf("fields (-C +Go):\n%s", diff)
			}
			if otherOrder[v.name] {
				return
			}
			if again := got.encode(); !bytes.Equal(again, v.bytes) {
				t.Errorf("written again:\n%x\nwant\n%x", again, v.bytes)
			}
		})
	}
	for kind := wire.TypeHello; kind.String() != "unknown"; kind++ {
		if !types[kind] {
			t.Errorf("no vector of type %v", kind)
		}
	}
	for reason := range reasons {
		if !refused[reason] {
			t.Errorf("no vector is refused as %s", reason)
		}
	}
}

// otherOrder are HELLOs that our cores would not write so.
var otherOrder = map[string]bool{"hello_required_only": true, "hello_any_order_and_unknown": true}

// A HELLO in another order, with TLVs unknown to us or without some of ours,
// says the same when it is written in our order.
func TestHelloAnyOrder(t *testing.T) {
	found := 0
	for _, v := range readVectors(t) {
		if !otherOrder[v.name] {
			continue
		}
		found++
		var h, again wire.Hello
		if err := wire.ParseHello(v.bytes[wire.HeaderLen:], &h); err != nil {
			t.Fatal(err)
		}
		if err := wire.ParseHello(wire.AppendHello(nil, &h), &again); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(h, again); diff != "" {
			t.Errorf("%s: %s", v.name, diff)
		}
	}
	if found != len(otherOrder) {
		t.Errorf("%d vectors, want %d", found, len(otherOrder))
	}
}

// Seal and Sum agree with C whichever way a frame lies in memory, and every
// bit counts.
func TestSum(t *testing.T) {
	for _, v := range readVectors(t) {
		if v.refuse != "" || v.bytes[1]&wire.FlagCRC == 0 {
			continue
		}
		want := bytes.Clone(v.bytes[12:16])
		for cut := wire.HeaderLen; cut <= len(v.bytes); cut += 7 {
			head, rest := bytes.Clone(v.bytes[:cut]), v.bytes[cut:]
			clear(head[12:16])
			head[1] &^= wire.FlagCRC
			wire.Seal(head, rest[:len(rest)/2], rest[len(rest)/2:])
			if !bytes.Equal(head[:16], v.bytes[:16]) {
				t.Fatalf("%s cut at %d: CRC %x, want %x", v.name, cut, head[12:16], want)
			}
		}
		for bit := range 8 * len(v.bytes) {
			if bit/8 >= 12 && bit/8 < 16 {
				continue
			}
			b := bytes.Clone(v.bytes)
			b[bit/8] ^= 1 << (bit % 8)
			if wire.Sum(b) == wire.Sum(v.bytes) {
				t.Fatalf("%s: the CRC does not see bit %d", v.name, bit)
			}
		}
	}
}

func TestTypeNames(t *testing.T) {
	ledgered := map[wire.Type]bool{wire.TypeData: true, wire.TypePosition: true}
	names := map[string]bool{}
	for kind := range wire.Type(16) {
		if got := kind.Ledgered(); got != ledgered[kind] {
			t.Errorf("%v.Ledgered() = %v, want %v", kind, got, ledgered[kind])
		}
		name := kind.String()
		if known := kind <= wire.TypeData; known && names[name] || known == (name == "unknown") {
			t.Errorf("type %d is named %q", kind, name)
		}
		names[name] = true
	}
}
