// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"testing"

	"github.com/tbnet2/tbnet2/wire"
)

func TestArrive(t *testing.T) {
	for _, tt := range []struct {
		name          string
		next, seq     Seq
		ledgered      bool
		gap, ok       bool
		wantNext      Seq
		lost, reorder uint64
	}{
		{"in turn", 5, 5, true, false, true, 6, 0, 0},
		{"in turn, control", 5, 5, false, false, true, 5, 0, 0},
		{"ahead", 5, 8, true, true, true, 9, 3, 0},
		{"ahead, control", 5, 8, false, true, true, 8, 3, 0},
		{"behind", 5, 4, true, false, true, 5, 0, 1},
		{"behind, control", 5, 4, false, false, true, 5, 0, 0},
		{"round the end", 1<<32 - 2, 1, true, true, true, 2, 3, 0},
		{"as far as may be", 0, seqJumpMost, true, true, true, seqJumpMost + 1, seqJumpMost, 0},
		{"too far", 0, seqJumpMost + 1, true, false, false, 0, 0, 0},
		{"too far behind", seqJumpMost + 1, 0, true, false, false, seqJumpMost + 1, 0, 0},
	} {
		r := recvRail{next: tt.next}
		gap, ok := r.arrive(tt.seq, tt.ledgered)
		if gap != tt.gap || ok != tt.ok || r.next != tt.wantNext || r.lost != tt.lost || r.reordered != tt.reorder {
			t.Errorf("%s: gap %v, ok %v, next %d, lost %d, reordered %d", tt.name, gap, ok, r.next, r.lost, r.reordered)
		}
	}
}

// TestAckNeverLies loses sequences at random and checks every block that could
// be told on the way: what it says arrived did, and it can be encoded.
func TestAckNeverLies(t *testing.T) {
	for seed := range uint64(40) {
		rng := newWorldRNG(seed)
		first := Seq(0) - Seq(rng.IntN(3)*20000)
		r := recvRail{next: first, started: first}
		arrived := map[Seq]bool{}
		for seq := first; seq-first < 40000; seq++ {
			switch n := rng.IntN(200); {
			case n == 0:
				seq += Seq(rng.IntN(40))
			case n == 1 && seed%4 == 0:
				seq += Seq(rng.IntN(20000))
			}
			r.arrive(seq, true)
			arrived[seq] = true
			if rng.IntN(400) == 0 {
				checkAck(t, &r, arrived)
			}
		}
	}
}

func checkAck(t *testing.T, r *recvRail, arrived map[Seq]bool) {
	t.Helper()
	var a, parsed wire.RailAck
	r.ack(&a)
	if rest, err := wire.ParseRailAck(wire.AppendRailAck(nil, &a), &parsed); err != nil || len(rest) != 0 {
		t.Fatalf("%+v does not parse: %v", a, err)
	}
	lost := map[Seq]bool{}
	for _, g := range parsed.Gaps[:parsed.Count] {
		for i := range Seq(g.Count) {
			lost[Seq(parsed.Next)-Seq(g.Back)+i] = true
		}
	}
	for back := Seq(1); back <= Seq(parsed.Depth); back++ {
		if seq := Seq(parsed.Next) - back; !lost[seq] && !arrived[seq] {
			t.Fatalf("%d has not arrived: next %d, depth %d, gaps %v", seq, parsed.Next, parsed.Depth, parsed.Gaps[:parsed.Count])
		}
	}
}

func TestTransit(t *testing.T) {
	var tr transit
	if _, ok := tr.value(); ok {
		t.Error("a time is known before the first sample")
	}
	at := func(now Time, d int32) { tr.sample(now, now.Stamp()-uint32(d)) }
	want := func(what string, d int32) {
		t.Helper()
		if got, ok := tr.value(); !ok || got != d {
			t.Errorf("%s: %d (%v), want %d", what, got, ok, d)
		}
	}
	at(Second, 500)
	want("the first", 500)
	at(Second+1, 700)
	want("a longer one", 500)
	at(Second+2, -300) // the clocks' offset may be anything
	want("a shorter one", -300)
	at(Second+delayWindow, 900)
	want("the window before still counts", -300)
	at(Second+2*delayWindow, 900)
	want("forgotten", 900)
}
