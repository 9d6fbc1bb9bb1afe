// SPDX-License-Identifier: Apache-2.0

package transport

import "math/bits"

// Time is nanoseconds on a monotonic clock of the caller's choice. Both ends
// have their own; only differences matter.
type Time int64

// Durations in Time's unit.
const (
	Microsecond Time = 1000
	Millisecond Time = 1000 * Microsecond
	Second      Time = 1000 * Millisecond
)

// Never is later than every Time.
const Never Time = 1<<63 - 1

// Stamp is the wire form of a Time: units of 1024 ns, modulo 2^32.
func (t Time) Stamp() uint32 { return uint32(uint64(t) >> 10) }

// Seq is a sequence number modulo 2^32: a packet number or a rail sequence.
// A raw < on it is a bug.
type Seq uint32

// Before reports whether s comes before t, within half the number space.
func (s Seq) Before(t Seq) bool { return int32(s-t) < 0 }

// Sub gives the distance from t to s.
func (s Seq) Sub(t Seq) int32 { return int32(s - t) }

// Rate is bytes per 2^20 ns.
type Rate uint64

// rateMin keeps nanosecondsPerByte within 64-bit products: about 1 Mb/s.
const rateMin Rate = 128

// RateFromBits converts bits per second, rounding down.
func RateFromBits(bps uint64) Rate {
	// 2^20 / 1e9 / 8, as 2^17/1e9; split so that 100 Tb/s does not overflow.
	return Rate(bps / 1000 * (1 << 17) / 1_000_000)
}

// Bits gives bits per second, rounding down.
func (r Rate) Bits() uint64 { return uint64(r) * 1_000_000 / (1 << 17) * 1000 }

// inverse gives ns per byte in units of 2^-20, for rates of at least rateMin.
func (r Rate) inverse() uint64 { return 1 << 40 / uint64(max(r, rateMin)) }

// RailID is a host's own number for one of its rails, below 64.
type RailID uint8

// RailSet is a bitmap of rail ids.
type RailSet uint64

// Has reports whether id is in the set.
func (s RailSet) Has(id RailID) bool { return s>>id&1 != 0 }

// With gives the set with id.
func (s RailSet) With(id RailID) RailSet { return s | 1<<id }

// Without gives the set less id.
func (s RailSet) Without(id RailID) RailSet { return s &^ (1 << id) }

// All iterates over the ids in the set, lowest first.
func (s RailSet) All() func(yield func(RailID) bool) {
	return func(yield func(RailID) bool) {
		for ; s != 0; s &= s - 1 {
			if !yield(RailID(bits.TrailingZeros64(uint64(s)))) {
				return
			}
		}
	}
}

// Len counts the ids in the set.
func (s RailSet) Len() int { return bits.OnesCount64(uint64(s)) }

// nth gives the i-th id of the set, from 0.
func (s RailSet) nth(i int) RailID {
	for ; i > 0; i-- {
		s &= s - 1
	}
	return RailID(bits.TrailingZeros64(uint64(s)))
}
