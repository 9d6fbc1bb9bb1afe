// SPDX-License-Identifier: Apache-2.0

package transport

import "testing"

// TestLedger follows the ring through growth, the end of the sequence numbers,
// and frames taken back.
func TestLedger(t *testing.T) {
	for _, first := range []Seq{0, 1<<31 - 300, 1<<32 - 300} {
		l := ledger{una: first, next: first}
		want := []int{} // sizes in flight
		sum := 0
		push := func(n int) {
			if !l.room() {
				t.Fatal("no room")
			}
			l.push(entry{size: int32(n)})
			want, sum = append(want, n), sum+n
		}
		for i := range 600 { // twice past the first length
			push(100 + i)
		}
		for range 200 {
			if e := l.popOldest(); int(e.size) != want[0] {
				t.Fatalf("oldest is %d bytes, want %d", e.size, want[0])
			}
			want = want[1:]
		}
		if e := l.popNewest(); int(e.size) != want[len(want)-1] {
			t.Fatalf("newest is %d bytes, want %d", e.size, want[len(want)-1])
		}
		sum -= want[len(want)-1]
		want = want[:len(want)-1]
		push(7)
		inFlight := 0
		for _, n := range want {
			inFlight += n
		}
		if l.len() != len(want) || l.inFlight != inFlight || l.bytes != uint64(sum) {
			t.Errorf("from %d: %d entries, %d in flight, %d bytes; want %d, %d, %d", first, l.len(), l.inFlight, l.bytes, len(want), inFlight, sum)
		}
		if got := l.startOf(l.next); got != uint64(sum) {
			t.Errorf("start of next is %d, want %d", got, sum)
		}
		if got := l.startOf(l.una); got != uint64(sum-inFlight) {
			t.Errorf("start of una is %d, want %d", got, sum-inFlight)
		}
	}
}

// TestLedgerBound: the ring does not grow beyond what a gap can name.
func TestLedgerBound(t *testing.T) {
	var l ledger
	n := 0
	for ; l.room(); n++ {
		l.push(entry{size: 1})
	}
	if n != ledgerMost || len(l.ring) != ledgerMost {
		t.Errorf("%d entries in a ring of %d, want %d", n, len(l.ring), ledgerMost)
	}
}

func TestSpans(t *testing.T) {
	var q spans
	packets := make([]Packet, 200)
	for i := range packets {
		q.pushBack(span{&packets[i], 0, 128, 0})
	}
	q.pushFront(span{&packets[199], 64, 64, 1})
	if q.count != 201 || q.bytes != 200*128+64 {
		t.Fatalf("%d spans of %d bytes", q.count, q.bytes)
	}
	q.take(64)
	if f := q.front(); f.packet != &packets[0] {
		t.Fatal("the front is not the oldest after the one that was put in front is gone")
	}
	q.take(64)
	if f := q.front(); f.packet != &packets[0] || f.off != 64 || f.n != 64 {
		t.Fatalf("the rest of a span is [%d, +%d)", f.off, f.n)
	}
	for q.count > 0 {
		q.take(q.front().n)
	}
	if q.bytes != 0 {
		t.Errorf("%d bytes left in an empty queue", q.bytes)
	}
	for i := range q.ring {
		if q.ring[i].packet != nil {
			t.Fatal("an empty queue keeps a packet")
		}
	}
}
