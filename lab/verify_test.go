// SPDX-License-Identifier: Apache-2.0

package lab_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tbnet2/tbnet2/lab"
)

func TestVerifyOverFabric(t *testing.T) {
	modes(t, func(t *testing.T, mode lab.Mode) {
		l := build(t, lab.Pair(2, 2).With(func(l *lab.Link) { l.Rate, l.Delay = 500*lab.Mbit, 50*lab.Microsecond }), mode)
		before := l.Status()
		r, err := l.Verify(t.Context(), lab.VerifyPlan{Bytes: 16 << 20})
		if err != nil {
			t.Fatalf("Verify: %v, %+v", err, r)
		}
		if !r.Equal || r.Sent != r.Received || r.Bytes != 16<<20 || !r.Simulated || r.Mode != mode || r.Over != lab.OverFabric {
			t.Errorf("report is %+v", r)
		}
		if r.Rate > 1000*lab.Mbit {
			t.Errorf("rate is %s over two cables of 500mbit", r.Rate)
		}
		after := l.Status()
		for i := range after.Rails {
			if got := after.Rails[i].Ends[0].Counts.InBytes - before.Rails[i].Ends[0].Counts.InBytes; got < 1<<20 {
				t.Errorf("rail %s carried only %d bytes", after.Rails[i].Name, got)
			}
		}
		t.Logf("simulated: %s, longest stall %.1f ms", r.Rate, r.StallMS)
	})
}

func TestVerifyAcrossUnplug(t *testing.T) {
	l := build(t, lab.Pair(2, 1).With(func(l *lab.Link) { l.Rate = 200 * lab.Mbit }), lab.ModeMemory)
	done := make(chan error, 1)
	go func() { done <- pullAndPut(l) }()
	r, err := l.Verify(t.Context(), lab.VerifyPlan{Bytes: 32 << 20})
	if err := errors.Join(err, <-done); err != nil || !r.Equal {
		t.Fatalf("Verify: %v, %+v", err, r)
	}
	t.Logf("simulated: %s, longest stall %.1f ms", r.Rate, r.StallMS)
}

// pullAndPut unplugs a cable once it has carried something, and plugs it again.
func pullAndPut(l *lab.Lab) error {
	carried := func(rail int) uint64 { return l.Status().Rails[rail].Ends[0].Counts.InBytes }
	if err := poll("the cable carries the flow", func() bool { return carried(0) > 4<<20 }); err != nil {
		return err
	}
	if err := l.Unplug("cable1"); err != nil {
		return err
	}
	before := carried(1)
	err := poll("the other cable carries it alone", func() bool { return carried(1) > before+4<<20 })
	return errors.Join(err, l.Plug("cable1"))
}

func TestVerifySaysWhatIsWrong(t *testing.T) {
	topo := lab.Ring(4)
	l := build(t, topo, lab.ModeMemory)
	for _, tc := range []struct {
		name string
		plan lab.VerifyPlan
		want string
	}{
		{"unknown host", lab.VerifyPlan{From: "z"}, `no host "z"`},
		{"one host", lab.VerifyPlan{From: "b", To: "b"}, `from and to are both "b"`},
		{"no cable between", lab.VerifyPlan{From: "a", To: "c"}, "no cable or segment joins hosts a and c"},
		{"another cable", lab.VerifyPlan{From: "a", To: "b", Rail: "cable2"}, `"cable2" does not join hosts a and b`},
		{"carrier", lab.VerifyPlan{Over: "pigeons"}, `unknown carrier "pigeons"`},
		{"kernel in memory", lab.VerifyPlan{Over: lab.OverKernel}, "hosts in memory have no kernel's TCP"},
	} {
		if _, err := l.Verify(t.Context(), tc.plan); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q in it", tc.name, err, tc.want)
		}
	}
	if err := l.Unplug("cable1"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := l.Verify(ctx, lab.VerifyPlan{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Verify over an unplugged cable: %v, want %v", err, context.DeadlineExceeded)
	}
}

// TestVerifyIsStopped ends a flow that would take for ever.
func TestVerifyIsStopped(t *testing.T) {
	l := build(t, lab.Pair(1, 1).With(func(l *lab.Link) { l.Rate = 10 * lab.Mbit }), lab.ModeMemory)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		defer cancel()
		done <- poll("something has arrived", func() bool { return l.Status().Rails[0].Ends[0].Counts.InBytes > 100<<10 })
	}()
	r, err := l.Verify(ctx, lab.VerifyPlan{Bytes: 1 << 40})
	if err := <-done; err != nil {
		t.Error(err)
	}
	if !errors.Is(err, context.Canceled) || r.Equal {
		t.Errorf("got %v, %+v, want %v", err, r, context.Canceled)
	}
}

func TestServedVerify(t *testing.T) {
	c, _ := up(t, lab.Pair(1, 2), netMode(t))
	r, err := c.Verify(t.Context(), lab.VerifyPlan{Bytes: 4 << 20})
	if err != nil || !r.Equal || !r.Simulated || r.Bytes != 4<<20 {
		t.Errorf("Verify: %v, %+v", err, r)
	}
}
