// SPDX-License-Identifier: Apache-2.0

package transport

import "testing"

// shortOfMemory sends packets over rails far apart in delay to a node whose
// memory has a limit from some packet on, and gives what that node counted.
func shortOfMemory(t *testing.T, limit, from, packets int) (rs ReceiveStats, got uint64) {
	w := newPaths(t, 3, Config{Retransmit: true}, path{gigabit, 20 * Microsecond, 0, 0, 1500}, path{gigabit, 900 * Microsecond, 0, 0, 1500})
	w.nodes[1].delivered = func(*Delivery) { got++ }
	if from == 0 {
		w.nodes[1].mem.limit = limit
	}
	w.run(60 * Millisecond)
	for sent := 0; sent < packets; {
		if sent >= from {
			w.nodes[1].mem.limit = limit
		}
		for range 16 {
			if sent < packets && w.nodes[0].submit(0, 5000, false) {
				sent++
			}
		}
		w.nodes[0].flush()
		w.nodes[0].arm()
		w.run(w.now + 200*Microsecond)
	}
	for end := w.now + 2*Second; w.nodes[0].open > 0; w.run(w.now + Millisecond) {
		if w.now > end {
			t.Fatalf("not at rest 2 s after the last packet; %+v", w.nodes[1].assoc.ReceiveStats())
		}
	}
	rs = w.nodes[1].assoc.ReceiveStats()
	w.check()
	return rs, got
}

// TestLittleMemoryIsToldAsWindow: a receiver that has little memory from the
// start is sent no more than it can hold.
func TestLittleMemoryIsToldAsWindow(t *testing.T) {
	const packets = 2000
	rs, got := shortOfMemory(t, 128<<10, 0, packets)
	if got != packets || rs.Drops[DropMemory] != 0 {
		t.Errorf("%d packets of %d came, %d frames found no memory", got, packets, rs.Drops[DropMemory])
	}
	if rs.OutOfOrder == 0 {
		t.Error("no packet had to wait for another: this shows nothing")
	}
}

// TestSuddenlyNoMemory: what was promised and can no longer be held is told as
// lost. Packets may be given up, as after any loss that is not made good in
// time, but none counts as delivered that is not, no hole waits for the last
// resort, and most come.
func TestSuddenlyNoMemory(t *testing.T) {
	const packets = 2000
	rs, got := shortOfMemory(t, 64<<10, packets/4, packets)
	if rs.Drops[DropMemory] == 0 {
		t.Error("there was always room: this shows nothing")
	}
	if rs.HoleTimeouts != 0 {
		t.Errorf("%d holes timed out", rs.HoleTimeouts)
	}
	if got < packets/2 {
		t.Errorf("%d packets of %d came; %d frames found no memory", got, packets, rs.Drops[DropMemory])
	}
	t.Logf("%d of %d packets came, %d frames found no memory, %d packets were skipped", got, packets, rs.Drops[DropMemory], rs.Skipped)
}
