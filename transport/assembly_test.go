// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/tbnet2/tbnet2/wire"
)

// piece makes the fragment [off, off+n) of the packet that holds content.
func piece(content []byte, off, n int) *fragment {
	n = min(n, len(content)-off)
	return &fragment{off: int32(off), total: int32(len(content)), payload: content[off : off+n]}
}

func TestAssembly(t *testing.T) {
	for _, tt := range []struct {
		name   string
		total  int
		pieces [][2]int // offset, length
		fresh  []bool
		whole  bool
	}{
		{"in one", 100, [][2]int{{0, 100}}, []bool{true}, true},
		{"one byte", 1, [][2]int{{0, 1}}, []bool{true}, true},
		{"the largest", wire.PacketMax, [][2]int{{0, wire.PacketMax}}, []bool{true}, true},
		{"two, reversed", 100, [][2]int{{64, 36}, {0, 64}}, []bool{true, true}, true},
		{"repeated", 200, [][2]int{{64, 64}, {64, 64}}, []bool{true, false}, false},
		{"within what is held", 1000, [][2]int{{0, 640}, {64, 320}}, []bool{true, false}, false},
		{"around what is held", 1000, [][2]int{{128, 64}, {0, 640}, {640, 360}}, []bool{true, true, true}, true},
		{"whole after a part", 1000, [][2]int{{128, 64}, {0, 1000}}, []bool{true, true}, true},
		{"several holes at once", 1000, [][2]int{{64, 64}, {256, 64}, {512, 64}, {0, 1000}}, []bool{true, true, true, true}, true},
		{"last odd bytes missing", 1000, [][2]int{{0, 960}}, []bool{true}, false},
		{"last odd bytes twice", 1000, [][2]int{{960, 40}, {960, 40}, {0, 960}}, []bool{true, false, true}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := content(7, tt.total)
			a := assembly{total: int32(tt.total), buf: &Buffer{Data: make([]byte, tt.total)}}
			for i, p := range tt.pieces {
				if got := a.fill(piece(want, p[0], p[1])); got != tt.fresh[i] {
					t.Errorf("piece %d is new: %v, want %v", i, got, tt.fresh[i])
				}
			}
			if a.whole() != tt.whole {
				t.Errorf("whole: %v, want %v", a.whole(), tt.whole)
			}
			if tt.whole && !bytes.Equal(a.buf.Data, want) {
				t.Error("content differs")
			}
		})
	}
}

// TestAssemblyRandom fills packets by random overlapping pieces and uses the
// assembly again for the next.
func TestAssemblyRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var a assembly
	for round := range 200 {
		total := 1 + rng.IntN(wire.PacketMax)
		want := content(uint64(round), total)
		a.total, a.buf = int32(total), &Buffer{Data: make([]byte, total)}
		for held := 0; !a.whole(); held = int(a.got) {
			off := rng.IntN((total+wire.Unit-1)/wire.Unit) * wire.Unit
			fresh := a.fill(piece(want, off, (1+rng.IntN(200))*wire.Unit))
			if fresh != (int(a.got) > held) || int(a.got) > total {
				t.Fatalf("round %d: %d bytes after %d of %d, new %v", round, a.got, held, total, fresh)
			}
		}
		if !bytes.Equal(a.buf.Data, want) {
			t.Fatalf("round %d: content differs", round)
		}
		a.reset()
	}
}
