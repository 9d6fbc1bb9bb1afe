// SPDX-License-Identifier: Apache-2.0

// Command faults runs a checked TCP flow over two rails through each fault and
// outlet, and writes what became of it, a row per cell.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/tbnet2/tbnet2/lab"
	"github.com/tbnet2/tbnet2/test/rig"
)

// row is what became of one cell.
type row struct {
	Case      string            `json:"case"` // FAULT/OUTLET
	Simulated bool              `json:"simulated"`
	Intact    bool              `json:"intact"`
	Bytes     int64             `json:"bytes"` // after the fault
	StallMS   float64           `json:"longest_stall_ms"`
	Counters  map[string]uint64 `json:"counters"` // by how much they moved
	Error     string            `json:"error,omitempty"`
}

func main() {
	rig.Main()
	out := flag.String("out", "build/faults.json", "file to write")
	pick := flag.String("case", ".", "pattern of the cells FAULT/OUTLET to run")
	flag.Parse()
	re, err := regexp.Compile(*pick)
	if err == nil {
		err = runAll(re, *out)
	}
	if err != nil {
		rig.Fail(err)
	}
}

func runAll(pick *regexp.Regexp, out string) error {
	var rows []row
	var errs []error
	for _, c := range cells() {
		for _, o := range []rig.Outlet{rig.GVisor, rig.TAP} {
			r := row{Case: c.name + "/" + string(o), Simulated: true}
			if !pick.MatchString(r.Case) {
				continue
			}
			if err := r.run(c, o); err != nil {
				r.Error = err.Error()
				errs = append(errs, fmt.Errorf("%s: %w", r.Case, err))
			}
			fmt.Printf("%-26s intact=%-5v stall %7.1f ms %s\n", r.Case, r.Intact, r.StallMS, r.Error)
			rows = append(rows, r)
		}
	}
	b, err := json.MarshalIndent(map[string]any{"schema_version": 1, "rows": rows}, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(out), 0o755)
	}
	if err == nil {
		err = os.WriteFile(out, append(b, '\n'), 0o644)
	}
	return errors.Join(append(errs, err)...)
}

// Times of a cell, and what has to arrive within the second.
const (
	warm     = 500 * time.Millisecond
	traffic  = 2 * time.Second
	leastEnd = 1 << 20 // bytes in the last traffic/2: the flow goes on
)

func (r *row) run(c cell, o rig.Outlet) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	t := lab.Pair(2, 1)
	for i := range t.Cables {
		t.Cables[i].MTU, t.Cables[i].MTUB, t.Cables[i].Rate = 9000, 9000, 200*lab.Mbit
	}
	p, err := rig.Open(ctx, rig.Config{Topology: t, Outlet: o})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	f, err := rig.Start(ctx, p.A, p.B, rig.FlowOptions{})
	if err != nil {
		return err
	}
	return r.measure(c, p, f)
}

func (r *row) measure(c cell, p *rig.Pair, f *rig.Flow) error {
	time.Sleep(warm)
	before, start := counters(p), f.Received()
	f.Longest()
	if err := c.do(p.Lab); err != nil {
		return errors.Join(err, f.Stop())
	}
	time.Sleep(traffic / 2)
	half := f.Received()
	time.Sleep(traffic / 2)
	late := f.Received() - half
	r.Bytes, r.StallMS = f.Received()-start, float64(f.Longest().Microseconds())/1000
	r.Counters = counters(p)
	for name := range r.Counters {
		r.Counters[name] -= before[name]
	}
	err := f.Stop()
	r.Intact = err == nil
	if late < leastEnd {
		err = errors.Join(err, fmt.Errorf("only %d bytes in the last %v", late, traffic/2))
	}
	return errors.Join(err, c.judge(r.Counters))
}
