// SPDX-License-Identifier: Apache-2.0

package model

import (
	"errors"
	"fmt"
	"time"
)

// Million is the unit of probabilities: events in a million frames.
const Million = 1_000_000

// QueueDefault is the queue in front of a rate, in bytes.
const QueueDefault = 1 << 20

// Bounds of the knobs: beyond them sums of times would leave 64 bits, and
// nobody has such a link.
const (
	rateMin  = 1000 // bits per second
	rateMost = 1_000_000_000_000_000
	timeMost = time.Hour
)

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

// ErrParams is wrapped by the error for knobs outside their range.
var ErrParams = errors.New("link model: knob out of range")

// Check reports whether the knobs are in range; the error names the one that
// is not, and its range.
func (p Params) Check() error {
	for _, k := range []struct {
		name string
		v    int
	}{{"loss", p.Loss}, {"corrupt", p.Corrupt}, {"duplicate", p.Duplicate}} {
		if k.v < 0 || k.v > Million {
			return fmt.Errorf("%w: %s %d is not from 0 to %d in a million", ErrParams, k.name, k.v, Million)
		}
	}
	for _, k := range []struct {
		name string
		v    time.Duration
	}{{"delay", p.Delay}, {"jitter", p.Jitter}} {
		if k.v < 0 || k.v > timeMost {
			return fmt.Errorf("%w: %s %v is not from 0 to %v", ErrParams, k.name, k.v, timeMost)
		}
	}
	switch {
	case p.Rate != 0 && (p.Rate < rateMin || p.Rate > rateMost):
		return fmt.Errorf("%w: rate %d b/s is neither 0 (unlimited) nor from %d to %d", ErrParams, p.Rate, rateMin, rateMost)
	case p.Queue < 0:
		return fmt.Errorf("%w: queue %d B is negative", ErrParams, p.Queue)
	case p.Burst < 0 || p.Burst > Million:
		return fmt.Errorf("%w: burst %d is not from 0 to %d frames", ErrParams, p.Burst, Million)
	case p.Burst > 1 && p.Loss < Million && p.Burst*(Million-p.Loss) < p.Loss:
		return fmt.Errorf("%w: loss %d in a million needs bursts longer than %d frames", ErrParams, p.Loss, p.Burst)
	}
	return nil
}

// queue is the limit in bytes.
func (p *Params) queue() int {
	if p.Queue == 0 {
		return QueueDefault
	}
	return p.Queue
}
