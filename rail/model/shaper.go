// SPDX-License-Identifier: Apache-2.0

package model

import (
	"math"
	"math/bits"
	"time"
)

// Shaper is a rate that several links of one cable share. It belongs to one
// direction. The zero value is ready.
type Shaper struct {
	freeAt time.Duration // when what was accepted has left
	rest   uint64        // of the last frame's time, in 1/rate ns: no rounding adds up
	rate   uint64        // that rest belongs to
}

// take gives a frame its time on the wire, or reports that the queue is full.
// After it, freeAt is when the frame has left.
func (s *Shaper) take(now time.Duration, size int, rate uint64, queue int) bool {
	if rate == 0 {
		s.freeAt, s.rest = max(s.freeAt, now), 0
		return true
	}
	if waiting := s.waiting(now, rate); waiting > 0 && waiting+size > queue {
		return false
	}
	if s.freeAt < now || s.rate != rate {
		s.rest = 0
	}
	s.freeAt, s.rate = max(s.freeAt, now), rate
	t := uint64(size)*8*uint64(time.Second) + s.rest
	s.freeAt += time.Duration(t / rate)
	s.rest = t % rate
	return true
}

// waiting is how many bytes have not left at time now.
func (s *Shaper) waiting(now time.Duration, rate uint64) int {
	if s.freeAt <= now {
		return 0
	}
	const perByte = 8 * uint64(time.Second)
	hi, lo := bits.Mul64(uint64(s.freeAt-now), rate)
	if hi >= perByte {
		return math.MaxInt
	}
	n, _ := bits.Div64(hi, lo, perByte)
	return int(min(n, math.MaxInt32))
}

// timeOf is how long size bytes take at rate bits per second.
func timeOf(size int, rate uint64) time.Duration {
	return time.Duration(uint64(size) * 8 * uint64(time.Second) / rate)
}
