// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"slices"
	"testing"
)

func TestSeq(t *testing.T) {
	for _, tt := range []struct {
		a, b   Seq
		before bool
		sub    int32
	}{
		{0, 0, false, 0}, {0, 1, true, -1}, {1, 0, false, 1}, {1<<32 - 1, 0, true, -1}, {0, 1<<32 - 1, false, 1},
		{1<<31 - 1, 1 << 31, true, -1}, {5, 5 + 1<<31 - 1, true, -(1<<31 - 1)},
	} {
		if got := tt.a.Before(tt.b); got != tt.before {
			t.Errorf("%d before %d: %v", tt.a, tt.b, got)
		}
		if got := tt.a.Sub(tt.b); got != tt.sub {
			t.Errorf("%d - %d = %d, want %d", tt.a, tt.b, got, tt.sub)
		}
	}
	if got := maxSeq(1<<32-2, 3); got != 3 {
		t.Errorf("the later of 2^32-2 and 3 is %d", got)
	}
}

func TestRate(t *testing.T) {
	for _, tt := range []struct {
		bits uint64
		rate Rate
	}{
		{0, 0}, {1_000_000, 131}, {1_000_000_000, 131072}, {40_000_000_000, 5242880}, {100_000_000_000_000, 13107200000},
	} {
		if got := RateFromBits(tt.bits); got != tt.rate {
			t.Errorf("%d b/s is %d, want %d", tt.bits, got, tt.rate)
		}
		if back := tt.rate.Bits(); back > tt.bits || tt.bits-back > 8_000_000 {
			t.Errorf("%d b/s comes back as %d", tt.bits, back)
		}
	}
}

// TestTimeFor: the time of a frame is right within the rounding of the inverse,
// from the least rate to the largest.
func TestTimeFor(t *testing.T) {
	for _, r := range []Rate{1, rateMin, 131072, 5242880, 1 << 26} {
		e := newEstimate(0, r, 1500)
		for _, n := range []int{1, 64, 1500, 65600, windowMost} {
			want := Time(uint64(n) << 20 / uint64(max(r, rateMin)))
			if got := e.timeFor(n); got > want || want-got > 1+want/1000 {
				t.Errorf("%d bytes at %d take %d ns, want %d", n, r, got, want)
			}
		}
	}
}

func TestRailSet(t *testing.T) {
	s := RailSet(0).With(0).With(5).With(63)
	if got := slices.Collect(s.All()); !slices.Equal(got, []RailID{0, 5, 63}) {
		t.Errorf("members are %v", got)
	}
	if s.Len() != 3 || !s.Has(63) || s.Has(62) || s.Without(5).Has(5) || s.Without(6) != s {
		t.Errorf("%b is not {0, 5, 63}", s)
	}
	for i, want := range []RailID{0, 5, 63} {
		if got := s.nth(i); got != want {
			t.Errorf("member %d is %d, want %d", i, got, want)
		}
	}
	for id := range s.All() {
		if id == 5 {
			break // must not go on
		}
	}
}

func TestStamp(t *testing.T) {
	for _, tt := range []struct {
		t    Time
		want uint32
	}{{0, 0}, {1023, 0}, {1024, 1}, {Second, 976562}, {1 << 42, 0}, {1<<42 + 4096, 4}, {-1024, 1<<32 - 1}} {
		if got := tt.t.Stamp(); got != tt.want {
			t.Errorf("stamp of %d is %d, want %d", tt.t, got, tt.want)
		}
	}
}

// TestNames: every value has a name of its own.
func TestNames(t *testing.T) {
	var names []string
	for d := Drop(0); d < dropEnd; d++ {
		names = append(names, d.String())
	}
	for s := RailDown; s <= RailSuspect; s++ {
		names = append(names, s.String())
	}
	for r := ReasonNew; r <= ReasonDisabled; r++ {
		names = append(names, r.String())
	}
	for o := Acknowledged; o <= Aborted; o++ {
		names = append(names, o.String())
	}
	for _, e := range []Event{{Kind: EventDead}, {Kind: EventMTU, MTU: 9000}, {State: RailUp}, {State: RailDown, Reason: ReasonSilent}} {
		names = append(names, e.String())
	}
	slices.Sort(names)
	if got := len(slices.Compact(slices.Clone(names))); got != len(names) || names[0] == "" {
		t.Errorf("%d names for %d values: %q", got, len(names), names)
	}
}
