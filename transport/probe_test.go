// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"slices"
	"testing"
)

// ladder plays a path that passes frames up to limit, and gives the sizes
// tried and what was proven in the end.
func ladder(p mtuProbe, mtu, limit, proven int, until Time) (tried []int, got int) {
	for run := Time(0); run < until; run += Millisecond {
		p.expire(run, proven)
		p.retry(run, proven, mtu)
		if p.size == 0 || run < p.due {
			continue
		}
		if k := len(tried); k == 0 || tried[k-1] != p.size {
			tried = append(tried, p.size)
		}
		p.sent(run, run.Stamp())
		if p.size <= limit && p.answers(run.Stamp()) {
			proven = p.size
			p.answered(run, mtu)
		}
	}
	return tried, proven
}

func TestProbeLadder(t *testing.T) {
	for _, tt := range []struct {
		mtu, limit, want int
		tried            []int
	}{
		{1500, 1500, 1500, []int{1500}},
		{576, 576, 576, []int{576}},
		{9000, 9000, 9000, []int{1500, 9000}},
		{65535, 65535, 65535, []int{1500, 65535}},
		{65535, 9000, 9000, []int{1500, 65535, 16384, 9000}},
		{65535, 1500, 1500, []int{1500, 65535, 16384, 9000, 4096}},
		{4000, 3000, 1500, []int{1500, 4000}},
		{9000, 1000, 0, []int{1500}},
	} {
		tried, got := ladder(newProbe(0, tt.mtu), tt.mtu, tt.limit, 0, 5*Second)
		if got != tt.want || !slices.Equal(tried, tt.tried) {
			t.Errorf("MTU %d over a path of %d: %d by %v, want %d by %v", tt.mtu, tt.limit, got, tried, tt.want, tt.tried)
		}
	}
}

// TestProbeRest: a rail that passes less than its MTU is tried again from the
// top after a rest.
func TestProbeRest(t *testing.T) {
	tried, _ := ladder(newProbe(0, 9000), 9000, 4096, 0, probeRest+3*Second)
	if want := []int{1500, 9000, 4096, 9000}; !slices.Equal(tried, want) {
		t.Errorf("tried %v, want %v", tried, want)
	}
}

// TestProbeSuspect: a rail under suspicion is asked at the size in use, then
// at smaller ones, without end.
func TestProbeSuspect(t *testing.T) {
	tried, got := ladder(suspectProbe(0, 9000), 9000, 1500, 0, 2*Second)
	if want := []int{9000, 4096, 1500}; !slices.Equal(tried, want) || got != 1500 {
		t.Errorf("tried %v and got %d, want %v and 1500", tried, got, want)
	}
	tried, _ = ladder(suspectProbe(0, 1500), 1500, 0, 0, 2*Second)
	if want := []int{1500}; !slices.Equal(tried, want) {
		t.Errorf("tried %v, want %v", tried, want)
	}
}

func TestProbeAnswers(t *testing.T) {
	p := newProbe(0, 9000)
	if p.answers(0) {
		t.Error("an answer came before the question")
	}
	p.sent(0, 1<<32-5)
	for _, tt := range []struct {
		echo uint32
		want bool
	}{{1<<32 - 6, false}, {1<<32 - 5, true}, {3, true}} {
		if got := p.answers(tt.echo); got != tt.want {
			t.Errorf("echo %d answers: %v", tt.echo, got)
		}
	}
}

func TestVerdict(t *testing.T) {
	up := health{enabled: true, carrier: true, here: true, there: true, proven: true}
	for _, tt := range []struct {
		name   string
		change func(*health)
		state  RailState
		reason Reason
	}{
		{"all well", func(*health) {}, RailUp, ReasonNone},
		{"new", func(h *health) { h.here, h.reason = false, ReasonNew }, RailDown, ReasonNew},
		{"silent", func(h *health) { h.here = false }, RailDown, ReasonSilent},
		{"unheard", func(h *health) { h.there = false }, RailDown, ReasonUnheard},
		{"no carrier comes before silence", func(h *health) { h.carrier, h.here = false, false }, RailDown, ReasonNoCarrier},
		{"disabled comes first", func(h *health) { h.enabled, h.carrier = false, false }, RailDown, ReasonDisabled},
		{"not proven", func(h *health) { h.proven = false }, RailProbing, ReasonNone},
		{"under suspicion", func(h *health) { h.proven, h.state = false, RailSuspect }, RailSuspect, ReasonUnanswered},
	} {
		h := up
		tt.change(&h)
		if state, reason := h.verdict(); state != tt.state || reason != tt.reason {
			t.Errorf("%s: %v %v, want %v %v", tt.name, state, reason, tt.state, tt.reason)
		}
	}
}
