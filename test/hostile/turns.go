// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"github.com/tbnet2/tbnet2/bench"
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

// turnLength is short, so that rounds are many.
const turnLength = 250 * time.Millisecond

// disturbance is how many processors others may use in a round that counts.
const disturbance = 0.2

// round is every turn once.
type round struct {
	rates  [turnEnd]float64 // of the honest flow, bits per second
	ours   [turnEnd]float64 // processors that this process used
	others float64          // that the rest of the machine used
}

// rounds are what was measured.
type rounds []round

// quiet gives the rounds that nothing else on the machine disturbed.
func (r rounds) quiet() (q rounds) {
	for i := range r {
		if r[i].others <= disturbance {
			q = append(q, r[i])
		}
	}
	return q
}

// median is of the honest flow's rates in a turn, or of the processors used.
func (r rounds) median(of func(*round) float64) float64 {
	if len(r) == 0 {
		return 0
	}
	var all []float64
	for i := range r {
		all = append(all, of(&r[i]))
	}
	return bench.Median(all)
}

func (r rounds) rate(t turn) float64 {
	return r.median(func(r *round) float64 { return r.rates[t] })
}

func (r rounds) processors(t turn) float64 {
	return r.median(func(r *round) float64 { return r.ours[t] })
}

// duel makes rounds until the victim was under attack for d in quiet ones, or
// twice as long in all, and gives how many frames it was sent.
func (s *scene) duel(kind attack, g grammar, d time.Duration) (r rounds, sent int, err error) {
	want := max(1, int(d/turnLength))
	unheardSent := 0
	for len(r) < 2*want && len(r.quiet()) < want {
		start := time.Now()
		before, err := othersTime()
		if err != nil {
			return r, sent, err
		}
		var next round
		s.measure(alone, &next)
		places := s.attacker.places()
		stop := s.attacker.start(kind, g, s.deaf.B(), sent+unheardSent)
		s.measure(unheard, &next)
		unheardSent += stop()
		s.attacker.restore(places)
		stop = s.attacker.start(kind, g, s.hostile.B(), sent+unheardSent)
		s.measure(attacked, &next)
		sent += stop()
		now, err := othersTime()
		if err != nil {
			return r, sent, err
		}
		next.others = float64(now-before) / float64(time.Since(start))
		r = append(r, next)
	}
	return r, sent, nil
}

// measure runs for one turn.
func (s *scene) measure(t turn, r *round) {
	before, start := ourTime(), time.Now()
	r.rates[t] = s.flow.rate(turnLength)
	r.ours[t] = float64(ourTime()-before) / float64(time.Since(start))
}
