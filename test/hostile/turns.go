// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"github.com/tbnet2/tbnet2/bench"
	"github.com/tbnet2/tbnet2/rail/mem"
)

// turn is a state of the scene. The attacker shares the processors with those
// whom it attacks, which no real one does: what it takes from the honest flow
// merely by running is seen while nobody hears it.
type turn int

const (
	alone    turn = iota // no attack
	unheard              // the attack goes to a segment on which nobody looks at it
	attacked             // the attack goes to the victim
	turnEnd
)

// turnLength is short, so that what else the machine does falls on all turns
// alike.
const turnLength = 250 * time.Millisecond

// turns are the honest flow's rates in each turn, bits per second.
type turns [turnEnd][]float64

func (t *turns) median(of turn) float64 { return bench.Median(t[of]) }

// takeTurns goes through all turns again and again until the victim was under
// attack for d, and gives how many frames it was sent.
func (s *scene) takeTurns(kind attack, g grammar, d time.Duration, t *turns) (sent int) {
	unheardSent := 0
	for under := time.Duration(0); under < d; under += turnLength {
		t[alone] = append(t[alone], s.flow.rate(turnLength))
		places := s.attacker.places()
		n, rate := s.volley(kind, g, s.deaf.B(), sent+unheardSent)
		s.attacker.restore(places)
		unheardSent += n
		t[unheard] = append(t[unheard], rate)
		n, rate = s.volley(kind, g, s.hostile.B(), sent+unheardSent)
		sent += n
		t[attacked] = append(t[attacked], rate)
	}
	return sent
}

// volley attacks on dev for one turn, and measures the honest flow meanwhile.
func (s *scene) volley(kind attack, g grammar, dev *mem.Device, from int) (sent int, rate float64) {
	stop, done := make(chan struct{}), make(chan int)
	go func() { done <- s.attacker.run(kind, g, dev, from, stop) }()
	rate = s.flow.rate(turnLength)
	close(stop)
	return <-done, rate
}
