// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"io"
	"math"
	"text/tabwriter"
)

// Table prints the report for people. Simulated rows are marked.
func (r *Report) Table(w io.Writer) error {
	m := r.Machine
	_, _ = fmt.Fprintf(w, "%s on %s, %d CPUs, kernel %s, %s\n", r.Bench, m.CPU, m.CPUs, m.Kernel, m.Go)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "CASE\tMETRIC\tOURS\tTHEIRS\tPEER\tRATIO\tRUNS\t")
	for i := range r.Rows {
		row := &r.Rows[i]
		theirs, peer, ratio, note := "-", "-", "-", ""
		if row.Peer != "" {
			theirs, peer = figure(row.Theirs)+" "+row.Unit, row.Peer
			if row.Ratio != 0 {
				ratio = fmt.Sprintf("%.2f", row.Ratio)
			}
		}
		if row.Simulated {
			note = "simulated"
		}
		_, _ = fmt.Fprintf(t, "%s\t%s\t%s %s\t%s\t%s\t%s\t%d\t%s\n", row.Case, row.Metric, figure(row.Ours), row.Unit, theirs, peer, ratio, row.Runs, note)
	}
	return t.Flush()
}

// figure prints v with about four digits.
func figure(v float64) string {
	switch a := math.Abs(v); {
	case v == math.Trunc(v) && a < 1e6, a >= 1000:
		return fmt.Sprintf("%.0f", v)
	case a >= 100:
		return fmt.Sprintf("%.1f", v)
	case a >= 10:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3f", v)
}
