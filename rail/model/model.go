// SPDX-License-Identifier: Apache-2.0

// Package model decides what a link does to frames: rate, delay, jitter, loss,
// corruption, duplicates, stalls, discard. It has no clock and no goroutine,
// and all chance comes from a seed, so that what happened can be repeated.
package model

import (
	"errors"
	"math/rand/v2"
	"time"
)

// Million is the unit of probabilities: events in a million frames.
const Million = 1_000_000

// Params are one direction's knobs. The zero value is a perfect wire.
type Params struct {
	Rate      uint64        // bits per second, 0 unlimited
	Delay     time.Duration // one way
	Jitter    time.Duration // up to this much more, at random; order is kept
	Loss      int           // in a million
	Burst     int           // mean length of a run of lost frames, 0 or 1: single
	Corrupt   int           // frames with a flipped bit, in a million
	Duplicate int           // in a million
	Queue     int           // bytes that may wait for their turn, 0: QueueDefault
	Discard   bool          // everything is lost silently
}

// QueueDefault is the queue in front of a rate, in bytes.
const QueueDefault = 1 << 20

// ErrParams is returned for knobs outside their range.
var ErrParams = errors.New("model: a probability is from 0 to 1000000 in a million, and no time, burst or queue is negative")

// Check reports whether the knobs are in range.
func (p Params) Check() error {
	for _, m := range []int{p.Loss, p.Corrupt, p.Duplicate} {
		if m < 0 || m > Million {
			return ErrParams
		}
	}
	if p.Delay < 0 || p.Jitter < 0 || p.Burst < 0 || p.Queue < 0 {
		return ErrParams
	}
	return nil
}

// Shaper is a rate that several links of one cable share. It belongs to one
// direction. The zero value is ready.
type Shaper struct {
	freeAt time.Duration // when what was accepted has left
}

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

// Counts are one direction's totals.
type Counts struct {
	Frames, Bytes                                                     uint64 // offered
	Lost, Discarded, QueueFull, Corrupted, Duplicated, DuplicateBytes uint64
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

// Set changes the knobs for the frames to come.
func (l *Link) Set(p Params) error {
	if err := p.Check(); err != nil {
		return err
	}
	l.params = p
	return nil
}

// Stall holds back all that has not arrived until the given time.
func (l *Link) Stall(until time.Duration) { l.stalled = max(l.stalled, until) }

// Counts gives the totals.
func (l *Link) Counts() Counts { return l.counts }

// Offer passes a frame of size bytes to the link at time now.
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
	case !l.queue(now, size):
		l.counts.QueueFull++
		return Fate{Drop: QueueFull}
	}
	at := max(now, l.shaper.freeAt) + p.Delay
	if p.Jitter > 0 {
		at += time.Duration(l.rng.Int64N(int64(p.Jitter) + 1))
	}
	at = max(at, l.last, l.stalled)
	l.last = at
	f := Fate{At: at, Copies: 1, Flip: -1}
	if l.chance(p.Corrupt) {
		l.counts.Corrupted++
		f.Flip = l.rng.IntN(size * 8)
	}
	if l.chance(p.Duplicate) {
		l.counts.Duplicated++
		l.counts.DuplicateBytes += uint64(size)
		f.Copies = 2
	}
	return f
}

// queue takes the frame's time on the wire, or reports that the queue is full.
func (l *Link) queue(now time.Duration, size int) bool {
	if l.params.Rate == 0 {
		l.shaper.freeAt = max(l.shaper.freeAt, now)
		return true
	}
	start := max(now, l.shaper.freeAt)
	limit := l.params.Queue
	if limit == 0 {
		limit = QueueDefault
	}
	if waiting := bytesIn(start-now, l.params.Rate); waiting > 0 && waiting+size > limit {
		return false
	}
	l.shaper.freeAt = start + timeOf(size, l.params.Rate)
	return true
}

// timeOf is how long size bytes take at rate bits per second.
func timeOf(size int, rate uint64) time.Duration {
	return time.Duration(uint64(size) * 8 * uint64(time.Second) / rate)
}

// bytesIn is how many bytes go at rate in d, for d up to an hour.
func bytesIn(d time.Duration, rate uint64) int {
	return int(uint64(d/time.Microsecond) * (rate / 1000) / 8000)
}

// lose decides by Gilbert and Elliott's two states: a burst begins with the
// chance that gives the mean loss, and goes on with 1 - 1/Burst.
func (l *Link) lose() bool {
	p := &l.params
	if p.Loss == 0 {
		l.bad = false
		return false
	}
	if p.Burst <= 1 {
		return l.chance(p.Loss)
	}
	if l.bad {
		l.bad = !l.chance(Million / p.Burst)
	} else if p.Loss < Million {
		l.bad = l.chance(p.Loss * Million / p.Burst / (Million - p.Loss))
	} else {
		l.bad = true
	}
	return l.bad
}

func (l *Link) chance(million int) bool { return million > 0 && l.rng.IntN(Million) < million }
