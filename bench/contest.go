// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"io"
	"strings"
)

// Metric is one of the figures that a run gives.
type Metric struct {
	Name, Unit string
	Better     Better
}

// Run measures once and gives a figure for each metric of its contest.
type Run func() ([]float64, error)

// Contender is somebody whom ours is compared with.
type Contender struct {
	Name string
	Run  Run
}

// Contest is a case in which ours meets several peers: all run in turn, again
// and again, so that slow drift of the machine meets all alike.
type Contest struct {
	Case      string
	Metrics   []Metric
	Runs      int // of each, at least RunsMin where there are peers
	Simulated bool
	Progress  io.Writer // a line for every run, nil: none
}

// Rows holds the contest and gives a row of medians for each metric and peer;
// without peers one for each metric.
func (c Contest) Rows(ours Run, peers ...Contender) ([]Row, error) {
	if len(peers) > 0 && c.Runs < RunsMin || c.Runs < 1 {
		return nil, fmt.Errorf("%s: %d runs are fewer than %d", c.Case, c.Runs, RunsMin)
	}
	all := append([]Contender{{"tbnet2", ours}}, peers...)
	medians, err := c.hold(all)
	if err != nil {
		return nil, err
	}
	var rows []Row
	for m, metric := range c.Metrics {
		row := Row{Case: c.Case, Metric: metric.Name, Unit: metric.Unit, Ours: medians[0][m], Simulated: c.Simulated, Runs: c.Runs}
		if len(peers) == 0 {
			rows = append(rows, row)
		}
		for p, peer := range peers {
			row.Peer, row.Theirs = peer.Name, medians[p+1][m]
			row.Ratio = Ratio(metric.Better, row.Ours, row.Theirs)
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// hold gives each contender's median of each metric.
func (c Contest) hold(all []Contender) ([][]float64, error) {
	figures := make([][][]float64, len(all)) // by contender, metric, run
	for i := range figures {
		figures[i] = make([][]float64, len(c.Metrics))
	}
	for run := range c.Runs {
		for i, who := range all {
			got, err := who.Run()
			if err == nil && len(got) != len(c.Metrics) {
				err = fmt.Errorf("%d figures for %d metrics", len(got), len(c.Metrics))
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %s, run %d: %w", c.Case, who.Name, run+1, err)
			}
			for m, v := range got {
				figures[i][m] = append(figures[i][m], v)
			}
			c.tell(run, who.Name, got)
		}
	}
	medians := make([][]float64, len(all))
	for i := range all {
		for m := range c.Metrics {
			medians[i] = append(medians[i], Median(figures[i][m]))
		}
	}
	return medians, nil
}

func (c Contest) tell(run int, who string, got []float64) {
	if c.Progress == nil {
		return
	}
	var parts []string
	for m, v := range got {
		parts = append(parts, fmt.Sprintf("%s %s", c.Metrics[m].Name, figure(v)))
	}
	_, _ = fmt.Fprintf(c.Progress, "%s  run %d of %d  %s: %s\n", c.Case, run+1, c.Runs, who, strings.Join(parts, ", "))
}
