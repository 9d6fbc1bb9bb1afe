// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/tbnet2/tbnet2/rail/model"
)

const all = LocalWrite | RemoteWrite | RemoteRead | RemoteAtomic

// TestRCEveryOpcode verifies every byte of every operation, of sizes around
// what fits a packet, over rails of unequal MTU.
func TestRCEveryOpcode(t *testing.T) {
	w := newWorld(t, 3, model.Params{}, 9000, 4096, 1500)
	x, y := w.pair(t, RC)
	for _, n := range []int{0, 1, 2, 1024, 1025, 1387, 8191, 100_000, 3 << 20} {
		t.Run(fmt.Sprint(n), func(t *testing.T) { everyOpcode(t, w, x, y, n) })
	}
}

func everyOpcode(t *testing.T, w *world, x, y *QP, n int) {
	src, dst := noise(n+64, uint64(n)), make([]byte, n+64)
	mx, my := w.a.mr(t, src, all), w.b.mr(t, dst, all)
	third := n / 3
	from := []SGE{mx.SGE(0, third), mx.SGE(third, third), mx.SGE(2*third, n-2*third)}
	into := []SGE{my.SGE(0, n/2), my.SGE(n/2, n-n/2)}
	for _, op := range []Opcode{OpSend, OpSendImm, OpWrite, OpWriteImm} {
		clear(dst)
		takes := op != OpWrite
		if takes {
			recv(t, y, RecvWR{ID: 7, SGE: into})
		}
		post(t, x, SendWR{ID: 1, Op: op, SGE: from, Imm: 0xabcd, RemoteAddr: base, RKey: my.RKey()})
		w.a.expect(t, 1, Success)
		if takes {
			c := w.b.expect(t, 7, Success)
			if int(c.Bytes) != n || c.HasImm != (op != OpSend) || c.HasImm && c.Imm != 0xabcd || c.SrcQPN != x.QPN() {
				t.Fatalf("op %d: completion %+v", op, c)
			}
		}
		same(t, fmt.Sprint("op ", op), dst[:n], src[:n])
		same(t, "behind it", dst[n:], make([]byte, 64))
	}
	copy(dst, noise(n, 99))
	clear(src)
	post(t, x, SendWR{ID: 2, Op: OpRead, SGE: from, RemoteAddr: base, RKey: my.RKey()})
	w.a.expect(t, 2, Success)
	same(t, "read", src[:n], dst[:n])
	same(t, "behind the read", src[n:], make([]byte, 64))
	must(t, mx.Dereg())
	must(t, my.Dereg())
}

func TestRCAtomics(t *testing.T) {
	w := newWorld(t, 2, model.Params{})
	x, y := w.pair(t, RC)
	_ = y
	src, dst := make([]byte, 8), make([]byte, 16)
	mx, my := w.a.mr(t, src, all), w.b.mr(t, dst, all)
	ne := binary.NativeEndian
	ne.PutUint64(dst, 40)
	ne.PutUint64(dst[8:], 1)
	add := SendWR{ID: 1, Op: OpFetchAdd, SGE: []SGE{mx.SGE(0, 8)}, RemoteAddr: base, RKey: my.RKey(), CompareAdd: 2}
	post(t, x, add)
	w.a.expect(t, 1, Success)
	if ne.Uint64(src) != 40 || ne.Uint64(dst) != 42 {
		t.Errorf("fetch and add: got %d, %d", ne.Uint64(src), ne.Uint64(dst))
	}
	for _, c := range []struct{ compare, want uint64 }{{5, 42}, {42, 77}} {
		post(t, x, SendWR{ID: 2, Op: OpCompareSwap, SGE: []SGE{mx.SGE(0, 8)}, RemoteAddr: base, RKey: my.RKey(), CompareAdd: c.compare, Swap: 77})
		w.a.expect(t, 2, Success)
		if ne.Uint64(src) != 42 || ne.Uint64(dst) != c.want {
			t.Errorf("compare %d: got %d, %d, want 42, %d", c.compare, ne.Uint64(src), ne.Uint64(dst), c.want)
		}
	}
	if ne.Uint64(dst[8:]) != 1 {
		t.Error("the next word has changed")
	}
	const many = 200
	for range many {
		add.RemoteAddr = base + 8
		post(t, x, add)
	}
	for i := range uint64(many) {
		w.a.expect(t, 1, Success)
		_ = i
	}
	if got := ne.Uint64(dst[8:]); got != 1+2*many {
		t.Errorf("after %d adds: got %d", many, got)
	}
}

// TestRCInline: the content is the caller's again when PostSend returns.
func TestRCInline(t *testing.T) {
	w := newWorld(t, 1, model.Params{})
	x, _ := w.pair(t, RC)
	dst := make([]byte, 100)
	my := w.b.mr(t, dst, all)
	b := noise(100, 3)
	want := noise(100, 3)
	post(t, x, SendWR{ID: 1, Op: OpWrite, Flags: Inline, InlineData: b, RemoteAddr: base, RKey: my.RKey()})
	clear(b)
	w.a.expect(t, 1, Success)
	same(t, "inline", dst, want)
}

// TestRCOrder: many requests under way complete in the order they were posted,
// with content intact, on rails of unequal delay.
func TestRCOrder(t *testing.T) {
	w := newWorld(t, 4, model.Params{Jitter: 200_000})
	x, y := w.pair(t, RC)
	const each, many = 20_000, 200
	src, dst := noise(each*many, 1), make([]byte, each*many)
	mx, my := w.a.mr(t, src, all), w.b.mr(t, dst, all)
	for i := range many {
		recv(t, y, RecvWR{ID: uint64(i), SGE: []SGE{my.SGE(i*each, each)}})
	}
	for i := range many {
		post(t, x, SendWR{ID: uint64(i), Op: OpSendImm, Imm: uint32(i), SGE: []SGE{mx.SGE(i*each, each)}})
	}
	for i := range uint64(many) {
		if c := w.b.expect(t, i, Success); c.Imm != uint32(i) {
			t.Fatalf("receive %d has the content of %d", i, c.Imm)
		}
		w.a.expect(t, i, Success)
	}
	same(t, "all", dst, src)
}
