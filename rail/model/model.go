// SPDX-License-Identifier: Apache-2.0

// Package model decides what a link does to frames: rate, delay, jitter, loss,
// corruption, duplicates, stalls, discard. It has no clock and no goroutine,
// counts in integers, and all chance comes from a seed, so that what happened
// can be repeated.
package model

import (
	"math/rand/v2"
	"time"
)

// Fate is what becomes of one frame.
type Fate struct {
	Drop   Reason
	At     time.Duration // arrival
	Copies int           // 1, or 2
	Flip   int           // bit to flip, -1: none
}

// Reason is why a frame is dropped.
type Reason uint8

// Reasons.
const (
	Kept Reason = iota
	Lost
	Discarded
	QueueFull
)

// String names the reason.
func (r Reason) String() string { return [...]string{"kept", "lost", "discarded", "queue_full"}[r] }

// Counts are one direction's totals.
type Counts struct {
	Frames, Bytes                                                     uint64 // offered
	Lost, Discarded, QueueFull, Corrupted, Duplicated, DuplicateBytes uint64
	// Unplugged were on their way when the carrier went.
	Unplugged uint64
}

// Link is one direction of a rail. Its methods must not run at the same time.
type Link struct {
	params  Params
	shaper  *Shaper
	rng     *rand.Rand
	last    time.Duration // arrival of the frame before: order is kept
	stalled time.Duration // nothing arrives before this
	bad     bool          // within a burst of losses
	counts  Counts
}

// NewLink gives a link with chance from seed. Links of one cable and direction
// pass the same shaper; nil stands for one of its own.
func NewLink(p Params, seed uint64, s *Shaper) *Link {
	if s == nil {
		s = new(Shaper)
	}
	return &Link{params: p, shaper: s, rng: rand.New(rand.NewPCG(seed, 0x7462))}
}

// Params gives the knobs.
func (l *Link) Params() Params { return l.params }

// Set changes the knobs for the frames to come. Bad ones change nothing.
func (l *Link) Set(p Params) error {
	if err := p.Check(); err != nil {
		return err
	}
	l.params = p
	return nil
}

// Stall holds back all that has not arrived until the given time. Frames
// offered before have their times already: whoever holds them asks Stalled.
func (l *Link) Stall(until time.Duration) { l.stalled = max(l.stalled, until) }

// Stalled is the time before which nothing arrives.
func (l *Link) Stalled() time.Duration { return l.stalled }

// Unplug counts frames that the holder threw away when the carrier went.
func (l *Link) Unplug(frames int) { l.counts.Unplugged += uint64(frames) }

// Counts gives the totals.
func (l *Link) Counts() Counts { return l.counts }

// Waiting is how many bytes still wait for their turn at time now, by this
// link's rate: what a sender's ring holds. The rails of a cable wait together.
func (l *Link) Waiting(now time.Duration) int { return l.shaper.waiting(now, l.params.Rate) }

// Drained is when no more than size bytes wait.
func (l *Link) Drained(size int) time.Duration {
	if l.params.Rate == 0 {
		return l.shaper.freeAt
	}
	return l.shaper.freeAt - timeOf(size, l.params.Rate)
}

// Offer passes a frame of size bytes to the link at time now, which never goes
// back. Frames arrive in the order in which they were offered.
func (l *Link) Offer(now time.Duration, size int) Fate {
	l.counts.Frames++
	l.counts.Bytes += uint64(size)
	p := &l.params
	switch {
	case p.Discard:
		l.counts.Discarded++
		return Fate{Drop: Discarded}
	case l.lose():
		l.counts.Lost++
		return Fate{Drop: Lost}
	case !l.shaper.take(now, size, p.Rate, p.queue()):
		l.counts.QueueFull++
		return Fate{Drop: QueueFull}
	}
	return l.arrive(size)
}

// arrive decides the fate of a frame that the shaper has taken.
func (l *Link) arrive(size int) Fate {
	p := &l.params
	at := l.shaper.freeAt + p.Delay
	if p.Jitter > 0 {
		at += time.Duration(l.rng.Int64N(int64(p.Jitter) + 1))
	}
	at = max(at, l.last, l.stalled)
	l.last = at
	f := Fate{At: at, Copies: 1, Flip: -1}
	if size > 0 && l.chance(uint64(p.Corrupt), Million) {
		l.counts.Corrupted++
		f.Flip = l.rng.IntN(size * 8)
	}
	if l.chance(uint64(p.Duplicate), Million) {
		l.counts.Duplicated++
		l.counts.DuplicateBytes += uint64(size)
		f.Copies = 2
	}
	return f
}

// lose decides by Gilbert and Elliott's two states: a burst ends after each
// frame with the chance 1/Burst, and begins with the one that makes Loss the
// mean.
func (l *Link) lose() bool {
	loss, burst := uint64(l.params.Loss), uint64(l.params.Burst)
	if loss == 0 || loss >= Million || burst <= 1 {
		l.bad = false
		return l.chance(loss, Million)
	}
	if l.bad {
		l.bad = !l.chance(1, burst)
	} else {
		l.bad = l.chance(loss, burst*(Million-loss))
	}
	return l.bad
}

// chance is true num times of den.
func (l *Link) chance(num, den uint64) bool { return num > 0 && l.rng.Uint64N(den) < num }
