// SPDX-License-Identifier: Apache-2.0

// Command stripe measures what share of several rails TCP gets: one flow and
// sixteen, over rails that are equal, unequal, far apart in delay, and lossy,
// through both outlets. The peers are our own transport with other policies, and
// the kernel's Multipath TCP. Every byte of every flow is checked.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/tbnet2/tbnet2/bench"
	"github.com/tbnet2/tbnet2/test/rig"
	"github.com/tbnet2/tbnet2/transport"
)

// options of a run.
type options struct {
	out     string
	pick    *regexp.Regexp
	runs    int
	warm    time.Duration
	measure time.Duration
}

func main() {
	rig.Main()
	var o options
	flag.StringVar(&o.out, "out", "build/bench/stripe.json", "file to write")
	flag.IntVar(&o.runs, "runs", 3, "alternating runs")
	flag.DurationVar(&o.warm, "warm", time.Second, "time before each measurement")
	flag.DurationVar(&o.measure, "measure", 3*time.Second, "time of each measurement")
	pick := flag.String("case", ".", "pattern of the cases CASE/OUTLET/FLOWS to run")
	flag.Parse()
	var err error
	if o.pick, err = regexp.Compile(*pick); err != nil {
		rig.Fail(fmt.Errorf("-case: %w", err))
	}
	if err := run(context.Background(), o); err != nil {
		rig.Fail(err)
	}
}

func run(ctx context.Context, o options) error {
	r := bench.New("stripe")
	var bars rig.Bars
	for _, s := range scenarios() {
		if !o.pick.MatchString(s.name()) {
			continue
		}
		rows, err := contest(ctx, s, o)
		if err != nil {
			return err
		}
		r.Rows = append(r.Rows, rows...)
		judge(&bars, s, rows)
	}
	if len(r.Rows) == 0 {
		return errors.New("-case matches no case")
	}
	if _, err := r.Write(filepath.Dir(o.out)); err != nil {
		return err
	}
	if err := r.Table(os.Stdout); err != nil {
		return err
	}
	return bars.Print(os.Stdout)
}

// rival is ours with another policy, or another stack.
type rival struct {
	name   string
	config rig.Config
}

func rivals(s scenario) []rival {
	c := rig.Config{Topology: s.topology, Outlet: s.outlet}
	with := func(p transport.Policy, unordered bool) rig.Config {
		c := c
		c.Policy, c.Unordered = p, unordered
		return c
	}
	all := []rival{
		{"flow-hash", with(transport.FlowHash, false)},
		{"round-robin", with(transport.RoundRobin, true)},
		{"round-robin+resequencer", with(transport.RoundRobin, false)},
	}
	if !s.delayed {
		all = append(all, rival{"mptcp", rig.Config{Topology: s.topology, Outlet: rig.MPTCP}})
	}
	return all
}

func contest(ctx context.Context, s scenario, o options) ([]bench.Row, error) {
	c := bench.Contest{Case: s.name(), Runs: o.runs, Simulated: true, Progress: os.Stderr,
		Metrics: []bench.Metric{{Name: "share_pct", Unit: "%"}}}
	if s.flows > 1 {
		c.Metrics = append(c.Metrics, bench.Metric{Name: "jain", Unit: "index"})
	}
	measure := func(config rig.Config) bench.Run {
		return func() ([]float64, error) { return share(ctx, config, s, o) }
	}
	var peers []bench.Contender
	for _, r := range rivals(s) {
		peers = append(peers, bench.Contender{Name: r.name, Run: measure(r.config)})
	}
	return c.Rows(measure(rig.Config{Topology: s.topology, Outlet: s.outlet}), peers...)
}

// share gives the payload of all flows in percent of the rails' rates, and
// Jain's index where there are several.
func share(ctx context.Context, config rig.Config, s scenario, o options) (figures []float64, err error) {
	p, err := rig.Open(ctx, config)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	load, err := rig.StartLoad(ctx, p.A, p.B, s.flows, rig.FlowOptions{})
	if err != nil {
		return nil, err
	}
	time.Sleep(o.warm)
	rates := load.Rates(o.measure)
	figures = []float64{100 * rig.Sum(rates) / float64(s.rate)}
	if s.flows > 1 {
		figures = append(figures, rig.Jain(rates))
	}
	return figures, load.Stop()
}

// jainBar is how alike sixteen flows shall be.
const jainBar = 0.95

func judge(b *rig.Bars, s scenario, rows []bench.Row) {
	for _, row := range rows {
		switch row.Metric {
		case "share_pct":
			b.AtLeast(row.Case+" share_pct", row.Ours, s.bar)
			b.AtLeast(row.Case+" ahead of "+row.Peer, row.Ratio, 1)
		case "jain":
			b.AtLeast(row.Case+" jain", row.Ours, jainBar)
		}
	}
}
