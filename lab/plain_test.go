// SPDX-License-Identifier: Apache-2.0

package lab_test

import (
	"testing"

	"github.com/tbnet2/tbnet2/lab"
)

func TestVerifyOverKernel(t *testing.T) {
	mode := netMode(t)
	direct := lab.Pair(1, 2)
	direct.Cables[0].Model = lab.Direct
	tbf := lab.Pair(1, 2).With(func(l *lab.Link) { l.Rate = 400 * lab.Mbit })
	tbf.Cables[0].Model = lab.TBF
	tbf.Cables[0].MTU, tbf.Cables[0].MTUB = 1500, 1500
	sw := lab.Switched(3, 1).With(func(l *lab.Link) { l.Rate = 200 * lab.Mbit })
	sw.Segments[0].Model = lab.TBF
	for name, tc := range map[string]struct {
		topo        lab.Topology
		least, most lab.Rate
	}{
		"direct":      {direct, 20 * lab.Mbit, 1000 * lab.Gbit},
		"tbf":         {tbf, 20 * lab.Mbit, 210 * lab.Mbit},
		"tbf segment": {sw, 20 * lab.Mbit, 210 * lab.Mbit},
	} {
		t.Run(name, func(t *testing.T) {
			l := build(t, tc.topo, mode)
			r, err := l.Verify(t.Context(), lab.VerifyPlan{Over: lab.OverKernel, Bytes: 16 << 20})
			if err != nil {
				t.Fatalf("Verify: %v", err)
			}
			if !r.Equal || r.Sent != r.Received || r.Bytes != 16<<20 || !r.Simulated {
				t.Errorf("report is %+v", r)
			}
			if r.Rate < tc.least || r.Rate > tc.most {
				t.Errorf("rate is %s, want %s to %s", r.Rate, tc.least, tc.most)
			}
		})
	}
}
