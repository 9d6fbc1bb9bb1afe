// SPDX-License-Identifier: Apache-2.0

package model

import (
	"errors"
	"math"
	"testing"
	"time"
)

// link is a link whose knobs are in range.
func link(t *testing.T, p Params, s *Shaper) *Link {
	t.Helper()
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
	return NewLink(p, 1, s)
}

// near fails unless got is within parts in a thousand of want.
func near(t *testing.T, what string, got, want, thousandths float64) {
	t.Helper()
	if math.Abs(got-want) > want*thousandths/1000 {
		t.Errorf("%s: got %.6g, want %.6g within %g ‰", what, got, want, thousandths)
	}
}

func TestRateHolds(t *testing.T) {
	for _, c := range []struct {
		name string
		rate uint64
		size int
	}{
		{"1 Mb/s small", 1e6, 64},
		{"10 Gb/s", 10e9, 1500},
		{"40 Gb/s rail frames", 40e9, 4096},
		{"100 Gb/s small, a frame is 5.12 ns", 100e9, 64},
		{"800 Gb/s small, a frame is below 1 ns", 800e9, 64},
		{"a rate that divides nothing", 9_999_999_967, 777},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := link(t, Params{Rate: c.rate, Queue: math.MaxInt32}, nil)
			const n = 10_000
			var last time.Duration
			for range n {
				last = l.Offer(0, c.size).At
			}
			near(t, "bit/s", n*float64(c.size)*8/last.Seconds(), float64(c.rate), 1)
		})
	}
}

func TestCableIsShared(t *testing.T) {
	var s Shaper
	p := Params{Rate: 1e9, Queue: math.MaxInt32}
	a, b := link(t, p, &s), link(t, p, &s)
	var last time.Duration
	for range 500 {
		a.Offer(0, 1000)
		last = b.Offer(0, 1000).At
	}
	if want := 8 * time.Millisecond; last != want {
		t.Errorf("1000 frames of 1000 B over two rails of a cable of 1 Gb/s took %v, want %v", last, want)
	}
}

func TestDelayIsExact(t *testing.T) {
	l := link(t, Params{Delay: 123456789}, nil)
	for now := time.Duration(0); now < time.Second; now += 7777777 {
		if got := l.Offer(now, 100).At - now; got != 123456789 {
			t.Fatalf("at %v: delay %v, want 123.456789ms", now, got)
		}
	}
}

func TestJitterSpreadsAndKeepsOrder(t *testing.T) {
	const delay, jitter, step = time.Millisecond, 100 * time.Microsecond, time.Millisecond
	l := link(t, Params{Delay: delay, Jitter: jitter}, nil)
	var sum, least, most, last time.Duration
	const n = 10_000
	least = time.Hour
	for i := range n {
		now := time.Duration(i) * step
		at := l.Offer(now, 100).At
		if at < last {
			t.Fatalf("frame %d arrives at %v, before the one before it at %v", i, at, last)
		}
		last = at
		extra := at - now - delay
		sum, least, most = sum+extra, min(least, extra), max(most, extra)
	}
	near(t, "mean jitter in ns", float64(sum)/n, float64(jitter)/2, 20)
	if least < 0 || least > jitter/100 || most > jitter || most < jitter*99/100 {
		t.Errorf("jitter from %v to %v, want all of 0 to %v", least, most, jitter)
	}
	// Closer together than the jitter: still in order.
	for i := range 1000 {
		at := l.Offer(n*step+time.Duration(i)*time.Microsecond, 100).At
		if at < last {
			t.Fatal("a frame overtook another")
		}
		last = at
	}
}

func TestLossRateAndBursts(t *testing.T) {
	for _, c := range []struct {
		name        string
		loss, burst int
		rate, run   float64 // mean, and mean length of a run of losses
		tolerance   float64 // in a thousand: three standard deviations or more
	}{
		{"none", 0, 0, 0, 0, 0},
		{"all", Million, 7, 1, 2_000_000, 0},
		{"1 %", 10_000, 0, 0.01, 1 / 0.99, 30},
		{"1 %, runs of 4", 10_000, 4, 0.01, 4, 60},
		{"0.1 %, runs of 25", 1000, 25, 0.001, 25, 250},
		{"60 %, runs of 2", 600_000, 2, 0.6, 2, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := link(t, Params{Loss: c.loss, Burst: c.burst}, nil)
			const n = 2_000_000
			lost, runs, before := 0, 0, false
			for i := range n {
				is := l.Offer(time.Duration(i), 100).Drop == Lost
				if is {
					lost++
				}
				if is && !before {
					runs++
				}
				before = is
			}
			near(t, "loss", float64(lost)/n, c.rate, c.tolerance)
			if runs > 0 {
				near(t, "run", float64(lost)/float64(runs), c.run, c.tolerance)
			}
			if got := l.Counts().Lost; got != uint64(lost) {
				t.Errorf("counted %d lost, saw %d", got, lost)
			}
		})
	}
}

func TestCorruptionAndDuplicates(t *testing.T) {
	l := link(t, Params{Corrupt: 20_000, Duplicate: 30_000}, nil)
	const n, size = 500_000, 100
	flips, twice, copies := map[int]int{}, 0, 0
	for i := range n {
		f := l.Offer(time.Duration(i), size)
		if f.Flip >= 0 {
			flips[f.Flip]++
		}
		copies += f.Copies
		if f.Copies == 2 {
			twice++
		}
	}
	corrupted := 0
	for bit, k := range flips {
		if bit >= size*8 {
			t.Errorf("bit %d of a frame of %d", bit, size*8)
		}
		corrupted += k
	}
	if len(flips) < size*8*99/100 {
		t.Errorf("%d of %d bits were ever hit", len(flips), size*8)
	}
	near(t, "corrupted", float64(corrupted)/n, 0.02, 40)
	near(t, "duplicated", float64(twice)/n, 0.03, 40)
	got, want := l.Counts(), Counts{Frames: n, Bytes: n * size, Corrupted: uint64(corrupted),
		Duplicated: uint64(copies - n), DuplicateBytes: uint64(copies-n) * size}
	if got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
}

func TestQueueOverflows(t *testing.T) {
	l := link(t, Params{Rate: 8e9, Queue: 10_000}, nil) // 1 B per ns
	kept := 0
	for range 100 {
		if l.Offer(0, 1000).Drop == Kept {
			kept++
		}
	}
	if kept != 10 || l.Counts().QueueFull != 90 {
		t.Errorf("kept %d, dropped %d, want 10 and 90", kept, l.Counts().QueueFull)
	}
	if got := l.Waiting(4000); got != 6000 {
		t.Errorf("%d B wait after 4 us, want 6000", got)
	}
	if got := l.Drained(2500); got != 7500 {
		t.Errorf("2500 B are left at %v, want 7.5us", got)
	}
	if got := l.Offer(5000, 1000).Drop; got != Kept {
		t.Errorf("a frame with room in the queue is %v", got)
	}
}

func TestFrameLargerThanQueueGoesAlone(t *testing.T) {
	l := link(t, Params{Rate: 8e9, Queue: 100}, nil)
	if got := l.Offer(0, 1000).Drop; got != Kept {
		t.Errorf("on an idle link: %v", got)
	}
	if got := l.Offer(0, 1000).Drop; got != QueueFull {
		t.Errorf("behind another: %v", got)
	}
}

func TestStallHoldsBackAndOrderStays(t *testing.T) {
	l := link(t, Params{}, nil)
	l.Stall(time.Second)
	for now, want := range map[time.Duration]time.Duration{0: time.Second, 999: time.Second} {
		if got := l.Offer(now, 100).At; got != want {
			t.Errorf("at %v: arrives at %v, want %v", now, got, want)
		}
	}
	l.Stall(time.Millisecond) // an earlier end does not shorten it
	if got := l.Stalled(); got != time.Second {
		t.Errorf("stalled until %v", got)
	}
	if got := l.Offer(2*time.Second, 100).At; got != 2*time.Second {
		t.Errorf("after the stall: %v", got)
	}
}

func TestDiscardIsSilent(t *testing.T) {
	l := link(t, Params{}, nil)
	if err := l.Set(Params{Discard: true}); err != nil {
		t.Fatal(err)
	}
	if f := l.Offer(0, 100); f.Drop != Discarded {
		t.Errorf("got %v", f.Drop)
	}
	if err := l.Set(Params{}); err != nil {
		t.Fatal(err)
	}
	if f := l.Offer(0, 100); f.Drop != Kept || l.Counts().Discarded != 1 {
		t.Errorf("got %v, %d discarded", f.Drop, l.Counts().Discarded)
	}
}

func TestBadKnobsChangeNothing(t *testing.T) {
	good := Params{Rate: 1e9, Delay: time.Millisecond}
	for name, p := range map[string]Params{
		"loss below":           {Loss: -1},
		"loss above":           {Loss: Million + 1},
		"corrupt":              {Corrupt: Million + 1},
		"duplicate":            {Duplicate: -1},
		"delay":                {Delay: -1},
		"delay above":          {Delay: 2 * time.Hour},
		"jitter":               {Jitter: -1},
		"rate below":           {Rate: 1},
		"rate above":           {Rate: math.MaxUint64},
		"queue":                {Queue: -1},
		"burst":                {Burst: -1},
		"bursts too short":     {Loss: 900_000, Burst: 2},
		"burst beyond chances": {Loss: 1, Burst: Million + 1},
	} {
		t.Run(name, func(t *testing.T) {
			l := link(t, good, nil)
			if err := l.Set(p); !errors.Is(err, ErrParams) {
				t.Errorf("Set: %v", err)
			}
			if l.Params() != good {
				t.Errorf("knobs are %+v", l.Params())
			}
		})
	}
}

func TestSeedRepeats(t *testing.T) {
	p := Params{Rate: 1e9, Delay: 1000, Jitter: 5000, Loss: 100_000, Burst: 3, Corrupt: 100_000, Duplicate: 100_000}
	run := func(seed uint64) (fates []Fate) {
		l := NewLink(p, seed, nil)
		for i := range 1000 {
			fates = append(fates, l.Offer(time.Duration(i)*time.Microsecond, 500))
		}
		return fates
	}
	a, b, other := run(5), run(5), run(6)
	same := 0
	for i := range a {
		if a[i] != b[i] {
			t.Fatalf("frame %d: %+v and %+v with one seed", i, a[i], b[i])
		}
		if a[i] == other[i] {
			same++
		}
	}
	if same == len(a) {
		t.Error("another seed gives the same fates")
	}
}

func TestOfferAllocatesNothing(t *testing.T) {
	l := link(t, Params{Rate: 1e9, Jitter: 5000, Loss: 1000, Burst: 3, Corrupt: 1000, Duplicate: 1000}, nil)
	now := time.Duration(0)
	if n := testing.AllocsPerRun(1000, func() { now += 1000; l.Offer(now, 1500) }); n != 0 {
		t.Errorf("%v allocations a frame", n)
	}
}

func BenchmarkOffer(b *testing.B) {
	l := NewLink(Params{Rate: 100e9, Delay: 1000, Loss: 1000}, 1, nil)
	for i := range b.N {
		l.Offer(time.Duration(i)*1000, 1500)
	}
}
