// SPDX-License-Identifier: Apache-2.0

// Command userstack measures what the two outlets carry and how soon they answer
// over veth rails without a rate limit, beside gVisor's own endpoint and the
// kernel's TCP on the same veth. Each host is a process with half of the CPUs, as
// two computers are. The cost of every row is in CPU seconds of both, for each GiB
// of payload.
//
// Flows are not compared byte by byte here, which would cost as much as the
// kernel's TCP does: test/bench/stripe and the tests do that.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/pprof"
	"time"

	"github.com/tbnet2/tbnet2/bench"
	"github.com/tbnet2/tbnet2/lab"
	"github.com/tbnet2/tbnet2/test/rig"
)

// messageSize of the round trips, bytes.
const messageSize = 64

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
	flag.StringVar(&o.out, "out", "build/bench/userstack.json", "file to write")
	flag.IntVar(&o.runs, "runs", 5, "alternating runs")
	flag.DurationVar(&o.warm, "warm", time.Second, "time before each measurement")
	flag.DurationVar(&o.measure, "measure", 2*time.Second, "time of each measurement")
	pick := flag.String("case", ".", "pattern of the cases to run: gvisor, tap, gvisor-65535, no-link")
	profile := flag.String("cpuprofile", "", "file for a CPU profile of the run")
	flag.Parse()
	var err error
	if o.pick, err = regexp.Compile(*pick); err != nil {
		rig.Fail(fmt.Errorf("-case: %w", err))
	}
	if err := profiled(*profile, func() error { return run(context.Background(), o) }); err != nil {
		rig.Fail(err)
	}
}

// profiled runs f with a CPU profile of it, which goes to a file.
func profiled(file string, f func() error) error {
	if file == "" {
		return f()
	}
	w, err := os.Create(file)
	if err != nil {
		return err
	}
	defer w.Close()
	if err := pprof.StartCPUProfile(w); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	return f()
}

// scenario is a case: an outlet over rails, and whom it meets.
type scenario struct {
	name   string
	outlet rig.Outlet
	rails  int
	mtu    int // bytes
	peers  []rig.Outlet
	bars   map[string]float64 // by metric and peer
}

func scenarios() []scenario {
	return []scenario{
		{"gvisor", rig.GVisor, 2, 9000, []rig.Outlet{rig.FDBased, rig.Kernel}, map[string]float64{
			"goodput_gbps gvisor-fdbased": 4, "goodput_gbps kernel-tcp": 0.4, "rtt_us kernel-tcp": 0.5}},
		{"tap", rig.TAP, 1, 9000, []rig.Outlet{rig.Kernel}, map[string]float64{"goodput_gbps kernel-tcp": 0.35}},
		{"gvisor-65535", rig.GVisor, 2, 65535, []rig.Outlet{rig.Kernel}, nil},
		{"tap-65535", rig.TAP, 1, 65535, []rig.Outlet{rig.Kernel}, nil},
		{"no-link", "", 0, 65535, nil, nil},
	}
}

func run(ctx context.Context, o options) error {
	r := bench.New("userstack")
	var bars rig.Bars
	for _, s := range scenarios() {
		if !o.pick.MatchString(s.name) {
			continue
		}
		rows, err := contest(ctx, s, o)
		if err != nil {
			return err
		}
		r.Rows = append(r.Rows, rows...)
		for _, row := range rows {
			if bar, ok := s.bars[row.Metric+" "+row.Peer]; ok {
				bars.AtLeast(row.Case+" "+row.Metric+" to "+row.Peer, row.Ratio, bar)
			}
		}
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

func contest(ctx context.Context, s scenario, o options) ([]bench.Row, error) {
	c := bench.Contest{Case: s.name, Runs: o.runs, Simulated: true, Progress: os.Stderr, Metrics: []bench.Metric{
		{Name: "goodput_gbps", Unit: "Gb/s"},
		{Name: "cpu_s_per_gib", Unit: "s/GiB", Better: bench.Lower},
		{Name: "rtt_us", Unit: "us", Better: bench.Lower},
	}}
	var peers []bench.Contender
	for _, p := range s.peers {
		name := string(p)
		if p == rig.Kernel {
			name = "kernel-tcp"
		}
		peers = append(peers, bench.Contender{Name: name, Run: over(ctx, s, p, o)})
	}
	if s.outlet == "" {
		return c.Rows(func() ([]float64, error) { return noLink(ctx, s.mtu, o) })
	}
	return c.Rows(over(ctx, s, s.outlet, o), peers...)
}

// over measures an outlet on the scenario's rails, each host a process.
func over(ctx context.Context, s scenario, outlet rig.Outlet, o options) bench.Run {
	t := lab.Pair(s.rails, 1)
	for i := range t.Cables {
		t.Cables[i].Model, t.Cables[i].MTU, t.Cables[i].MTUB = lab.Direct, s.mtu, s.mtu
	}
	return func() (figures []float64, err error) {
		p, err := rig.OpenApart(ctx, rig.Config{Topology: t, Outlet: outlet}, messageSize)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, p.Close()) }()
		rtt, err := p.PingPong(ctx, messageSize, o.measure/2)
		if err != nil {
			return nil, fmt.Errorf("ping-pong: %w", err)
		}
		rate, perGiB, err := p.Flow(ctx, o.warm, o.measure)
		return []float64{rate / 1e9, perGiB, float64(rtt.Nanoseconds()) / 1e3}, err
	}
}

// noLink measures gVisor's TCP/IP alone.
func noLink(ctx context.Context, mtu int, o options) (figures []float64, err error) {
	a, b, err := rig.NoLink(mtu)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.Close(), b.Close()) }()
	return measure(ctx, a, b, o)
}

// measure gives Gb/s, CPU seconds for each GiB, and the round trip of 64 bytes
// in microseconds.
func measure(ctx context.Context, a, b *rig.Host, o options) ([]float64, error) {
	rtt, err := rig.PingPong(ctx, a, b, messageSize, o.measure/2)
	if err != nil {
		return nil, fmt.Errorf("ping-pong: %w", err)
	}
	load, err := rig.StartLoad(ctx, a, b, 1, rig.FlowOptions{Unchecked: true})
	if err != nil {
		return nil, err
	}
	time.Sleep(o.warm)
	cpu, bytes := rig.CPUTime(), load[0].Received()
	rate := rig.Sum(load.Rates(o.measure))
	cpu, bytes = rig.CPUTime()-cpu, load[0].Received()-bytes
	if bytes == 0 {
		return nil, errors.Join(errors.New("the flow stands still"), load.Stop())
	}
	perGiB := cpu.Seconds() / (float64(bytes) / (1 << 30))
	return []float64{rate / 1e9, perGiB, float64(rtt.Nanoseconds()) / 1e3}, load.Stop()
}
