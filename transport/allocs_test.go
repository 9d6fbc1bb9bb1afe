// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"fmt"
	"testing"
)

// TestNoAllocations: in the steady state nothing is allocated, from Send to
// Done and delivery, acks and ticks included.
func TestNoAllocations(t *testing.T) {
	for _, cfg := range []Config{{Retransmit: true}, {}, {Class: Reliable}} {
		for _, size := range []int{64, 20000} {
			t.Run(fmt.Sprintf("class %d, retransmit %v, %d bytes", cfg.Class, cfg.Retransmit, size), func(t *testing.T) {
				p := newPipe(t, 4, 4096, cfg)
				parts := [][]byte{make([]byte, size/2), make([]byte, size-size/2)}
				var free []*Packet
				done := func(q *Packet, _ Outcome) { free = append(free, q) }
				for range 64 {
					free = append(free, &Packet{Parts: parts, Done: done})
				}
				step := func() {
					for range min(32, len(free)) {
						q := free[len(free)-1]
						free = free[:len(free)-1]
						q.Channel = (q.Channel + 1) % 4
						if err := p.ends[0].Send(q); err != nil {
							t.Fatal(err)
						}
					}
					p.now += 20 * Microsecond
					p.move(0)
					p.move(1)
					if p.now%Millisecond < 20*Microsecond {
						p.settle()
					}
				}
				many := func() { // AllocsPerRun rounds down
					for range 50 {
						step()
					}
				}
				for range 10 { // rings, pools and windows grow to what they need
					many()
				}
				before := p.taken
				if got := testing.AllocsPerRun(10, many); got != 0 {
					t.Errorf("%v allocations in 50 bursts", got)
				}
				if p.taken-before < 2000 {
					t.Fatalf("only %d packets came through", p.taken-before)
				}
			})
		}
	}
}
