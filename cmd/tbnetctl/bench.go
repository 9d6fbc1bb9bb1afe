// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/tbnet2/tbnet2/ctl"
)

func newBench(a *app) *cobra.Command {
	r := ctl.BenchRequest{}
	cmd := &cobra.Command{
		Use:   "bench PEER",
		Short: "Measure TCP to a peer, both directions, one flow and many",
		Long: `Measure TCP to a peer's daemon over the bond, in both directions, with one flow
and with many. Exit code 1 where one direction is more than 1.3 times faster
than the other.`,
		Args: wants(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Peer = args[0]
			if err := checkBench(r); err != nil {
				return err
			}
			p := &progress{a: a}
			result, err := a.backend().Bench(cmd.Context(), r, func(b ctl.BenchProgress) {
				p.step(fmt.Sprintf("%s, %s", b.Direction, plural(b.Flows, "flow")), fmt.Sprintf("%.0f s  %s", b.Seconds, rate(b.BPS)))
			})
			p.done()
			if err != nil {
				return err
			}
			return a.printBench(result)
		},
	}
	cmd.Flags().IntVar(&r.Seconds, "seconds", 5, "length of one run, 1 to 60")
	cmd.Flags().IntSliceVar(&r.Flows, "flows", []int{1, 8}, "TCP connections at once, each 1 to 64")
	return cmd
}

func checkBench(r ctl.BenchRequest) error {
	if r.Seconds < 1 || r.Seconds > ctl.BenchSecondsMax {
		return usagef("--seconds %d is not from 1 to %d", r.Seconds, ctl.BenchSecondsMax)
	}
	for _, f := range r.Flows {
		if f < 1 || f > ctl.BenchFlowsMax {
			return usagef("--flows %d is not from 1 to %d", f, ctl.BenchFlowsMax)
		}
	}
	return nil
}

// benchOutput is the JSON document of `bench`.
type benchOutput struct {
	*ctl.BenchResult
	Ratios []flowRatio `json:"ratios"`
}

// flowRatio compares the two directions with the same number of flows.
type flowRatio struct {
	Flows   int     `json:"flows"`
	Ratio   float64 `json:"ratio"` // faster over slower
	TooHigh bool    `json:"too_high"`
}

func (a *app) printBench(r *ctl.BenchResult) error {
	out := benchOutput{r, ratios(r)}
	bad := slices.ContainsFunc(out.Ratios, func(f flowRatio) bool { return f.TooHigh })
	var err error
	if a.json {
		err = a.printJSON(out)
	} else {
		err = a.benchText(out)
	}
	if err == nil && bad {
		return &exitError{code: exitFail}
	}
	return err
}

func ratios(r *ctl.BenchResult) []flowRatio {
	out := []flowRatio{}
	for _, run := range r.Runs {
		if ratio := r.Ratio(run.Flows); ratio != 0 && !slices.ContainsFunc(out, func(f flowRatio) bool { return f.Flows == run.Flows }) {
			out = append(out, flowRatio{run.Flows, ratio, ratio > ctl.RatioLimit})
		}
	}
	return out
}

func (a *app) benchText(r benchOutput) error {
	simulatedNote(a.out, r.Simulated)
	var rows [][]any
	for _, run := range r.Runs {
		share := "-"
		if r.WireBPS != 0 {
			share = fmt.Sprintf("%.1f %%", 100*float64(run.BPS)/float64(r.WireBPS))
		}
		rows = append(rows, []any{run.Direction, run.Flows, size(run.Bytes), fmt.Sprintf("%.2f s", run.Seconds), rate(run.BPS), share})
	}
	if err := table(a.out, []any{"DIRECTION", "FLOWS", "BYTES", "TIME", "RATE", "OF_LINKS"}, rows); err != nil {
		return err
	}
	for _, f := range r.Ratios {
		if f.TooHigh {
			_, _ = fmt.Fprintf(a.out, "WARN with %s one direction is %.2f times faster than the other (limit %.1f): compare `tbnetctl rails list` and the MTU on both hosts\n", plural(f.Flows, "flow"), f.Ratio, ctl.RatioLimit)
		}
	}
	return nil
}
