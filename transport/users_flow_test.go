// SPDX-License-Identifier: Apache-2.0

package transport

import "testing"

// TestU16_NoReorderingAbove: at full rate, over rails of unequal delay and
// jitter, every packet comes, in order, whatever the rails did to them.
func TestU16_NoReorderingAbove(t *testing.T) {
	for _, retransmit := range []bool{true, false} {
		w := newPaths(t, 16, Config{Retransmit: retransmit}, path{gigabit, 20 * Microsecond, 30 * Microsecond, 0, 1500},
			path{gigabit / 2, 300 * Microsecond, 100 * Microsecond, 0, 4096}, path{gigabit, 100 * Microsecond, 0, 0, 9000})
		var next Seq
		w.nodes[1].delivered = func(d *Delivery) {
			if d.Packet != next {
				t.Fatalf("packet %d comes after %d", d.Packet, next-1)
			}
			next++
		}
		w.saturate(w.nodes[0], 0, 1400)
		if got := w.perMille(100*Millisecond, 100*Millisecond); got < 950 {
			t.Errorf("retransmit %v: %d/1000 of the sum (simulated), want 950", retransmit, got)
		}
		rs := w.nodes[1].assoc.ReceiveStats()
		if rs.OutOfOrder == 0 {
			t.Error("no packet had to wait for another: the rails did not reorder, so this shows nothing")
		}
		t.Logf("retransmit %v: %d packets, %d of them waited for an earlier one", retransmit, rs.Packets, rs.OutOfOrder)
	}
}

// consume has node 1's consumer take so many bytes every millisecond.
func (w *world) consume(bytesPerMs int) (taken *int) {
	taken = new(int)
	backlog := 0
	n := w.nodes[1]
	n.delivered = func(d *Delivery) { backlog += len(d.Data) }
	var step func()
	step = func() {
		bytes := min(backlog, bytesPerMs)
		backlog -= bytes
		*taken += bytes
		n.assoc.Consumed(0, bytes)
		n.assoc.EndReceive(n.clock(), &n.in)
		n.assoc.Apply(n.clock(), &n.in)
		n.after()
		w.at(w.now+Millisecond, step)
	}
	w.at(w.now, step)
	return taken
}

// TestU21_SlowConsumerBackPressure: a consumer far slower than the rails stops
// the sender; nothing is dropped on the way, and what is held is bounded.
func TestU21_SlowConsumerBackPressure(t *testing.T) {
	const window, slow = 512 << 10, gigabit / 20
	w := newPaths(t, 21, Config{Retransmit: true, ManualConsume: true, Window: window, QueueBytes: 1 << 20},
		path{gigabit, 50 * Microsecond, 0, 0, 1500}, path{gigabit, 80 * Microsecond, 0, 0, 1500})
	taken := w.consume(slow)
	w.saturate(w.nodes[0], 0, 20000)
	w.run(w.now + 500*Millisecond)
	send, receive := w.nodes[0].assoc.SendStats(), w.nodes[1].assoc.ReceiveStats()
	if held := int(receive.PacketBytes) - *taken; held > window || held < window/2 {
		t.Errorf("%d bytes wait for the consumer, want at most %d, and at least half of that", held, window)
	}
	if send.QueueFull == 0 || send.ChannelWait == 0 {
		t.Errorf("the sender was never stopped: %d times full, %d times without window", send.QueueFull, send.ChannelWait)
	}
	if rate := *taken; rate < slow*480 {
		t.Errorf("the consumer got %d bytes in 500 ms, want %d: the window starves it", rate, slow*480)
	}
	if send.Lost+send.ResentFrames != 0 {
		t.Errorf("%d frames lost and %d sent again", send.Lost, send.ResentFrames)
	}
	receive.Drops.Each(func(name string, n uint64) {
		if n != 0 {
			t.Errorf("%d frames dropped: %s", n, name)
		}
	})
}
