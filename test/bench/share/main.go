// SPDX-License-Identifier: Apache-2.0

// Command share measures how two endpoints of a host, a gVisor process and a
// TAP, divide the same rails when both have more to send than fits.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/tbnet2/tbnet2/bench"
	"github.com/tbnet2/tbnet2/lab"
	"github.com/tbnet2/tbnet2/test/rig"
)

// Of every rail.
const (
	mtu  = 9000
	rate = 250 * lab.Mbit // leaves processor to spare
)

// bar is the least share of the rails' rates that each endpoint keeps, percent.
const bar = 40

type options struct {
	out           string
	runs          int
	warm, measure time.Duration
}

func main() {
	rig.Main()
	var o options
	flag.StringVar(&o.out, "out", "build/bench/share.json", "file to write")
	flag.IntVar(&o.runs, "runs", 3, "runs of each case")
	flag.DurationVar(&o.warm, "warm", time.Second, "time before each measurement")
	flag.DurationVar(&o.measure, "measure", 3*time.Second, "time of each measurement")
	flag.Parse()
	if err := run(context.Background(), o); err != nil {
		rig.Fail(err)
	}
}

func run(ctx context.Context, o options) error {
	r := bench.New("share")
	var bars rig.Bars
	for _, flows := range []int{1, 4} {
		c := bench.Contest{Case: fmt.Sprintf("two-endpoints/%d", flows), Runs: o.runs, Simulated: true, Progress: os.Stderr,
			Metrics: []bench.Metric{{Name: "gvisor_share_pct", Unit: "%"}, {Name: "tap_share_pct", Unit: "%"}, {Name: "sum_share_pct", Unit: "%"}}}
		rows, err := c.Rows(func() ([]float64, error) { return shares(ctx, flows, o) })
		if err != nil {
			return err
		}
		r.Rows = append(r.Rows, rows...)
		for _, row := range rows {
			if row.Metric != "sum_share_pct" {
				bars.AtLeast(row.Case+" "+row.Metric, row.Ours, bar)
			}
		}
	}
	if _, err := r.Write(filepath.Dir(o.out)); err != nil {
		return err
	}
	if err := r.Table(os.Stdout); err != nil {
		return err
	}
	return bars.Print(os.Stdout)
}

// tapEndpoint is beside rig.DefaultEndpoint.
const tapEndpoint = rig.DefaultEndpoint + 1

// shares gives each endpoint's percent of the rails' rates, and their sum.
func shares(ctx context.Context, flows int, o options) (figures []float64, err error) {
	t := lab.Pair(2, 1)
	for i := range t.Cables {
		t.Cables[i].Model, t.Cables[i].MTU, t.Cables[i].MTUB, t.Cables[i].Rate = lab.TBF, mtu, mtu, rate
	}
	p, err := rig.Open(ctx, rig.Config{Topology: t, Outlet: rig.GVisor})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	a, b, err := second(ctx, p)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.Close(), b.Close()) }()
	first, err := rig.StartLoad(ctx, p.A, p.B, flows, rig.FlowOptions{})
	if err != nil {
		return nil, err
	}
	other, err := rig.StartLoad(ctx, a, b, flows, rig.FlowOptions{})
	if err != nil {
		return nil, errors.Join(err, first.Stop())
	}
	time.Sleep(o.warm)
	rates := append(first, other...).Rates(o.measure)
	whole := float64(rate) * float64(len(t.Cables)) / 100
	gvisor, tap := rig.Sum(rates[:flows])/whole, rig.Sum(rates[flows:])/whole
	return []float64{gvisor, tap, gvisor + tap}, errors.Join(first.Stop(), other.Stop())
}

// second opens a TAP endpoint on both nodes of a pair, in a network of its own.
func second(ctx context.Context, p *rig.Pair) (a, b *rig.Host, err error) {
	c := rig.Config{Outlet: rig.TAP}
	if a, err = rig.OpenEndpoint(p.Lab.Host("a"), "10.80.0.1", tapEndpoint, c); err != nil {
		return nil, nil, err
	}
	if b, err = rig.OpenEndpoint(p.Lab.Host("b"), "10.80.0.2", tapEndpoint, c); err != nil {
		return nil, nil, errors.Join(err, a.Close())
	}
	err = rig.Within(ctx, 20*time.Second, "the second endpoint's rails up", func() bool {
		return a.RailsUp() >= len(a.Node.RailNames()) && b.RailsUp() >= len(b.Node.RailNames())
	})
	if err != nil {
		err = errors.Join(err, a.Close(), b.Close())
	}
	return a, b, err
}
