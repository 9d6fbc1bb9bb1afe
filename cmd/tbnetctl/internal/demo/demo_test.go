// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/tbnet2/tbnet2/lab"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestRunInMemory runs the whole demo on the least it sends.
func TestRunInMemory(t *testing.T) {
	p := Default()
	p.Mode, p.Bytes = lab.ModeMemory, BytesLeast
	var steps []string
	r, err := Run(t.Context(), p, func(g Progress) {
		if g.Step != "" {
			steps = append(steps, g.Step)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Equal() || r.Bytes != BytesLeast || !r.Simulated || r.Mode != lab.ModeMemory {
		t.Errorf("report %+v", r)
	}
	if len(r.BytesPerRail) != 4 {
		t.Errorf("rails %v, want 4", r.BytesPerRail)
	}
	for name, n := range r.BytesPerRail {
		if n < BytesLeast/100 {
			t.Errorf("%s carried %d bytes", name, n)
		}
	}
	if !slices.ContainsFunc(steps, func(s string) bool { return strings.HasSuffix(s, "pulled") }) {
		t.Errorf("no cable was pulled: %q", steps)
	}
}

func TestEqualTellsDifferentHashes(t *testing.T) {
	for _, c := range []struct {
		sent, got string
		want      bool
	}{{"aa", "aa", true}, {"aa", "ab", false}, {"", "", false}, {"aa", "", false}} {
		if r := (Report{SHA256Sent: c.sent, SHA256Got: c.got}); r.Equal() != c.want {
			t.Errorf("%q and %q: equal %v", c.sent, c.got, r.Equal())
		}
	}
}

func TestPlanRefusesTooFewBytes(t *testing.T) {
	p := Default()
	p.Mode, p.Bytes = lab.ModeMemory, BytesLeast-1
	if _, err := Run(t.Context(), p, func(Progress) {}); err == nil {
		t.Error("a plan of too few bytes is taken")
	}
}
