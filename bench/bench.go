// SPDX-License-Identifier: Apache-2.0

// Package bench is the form of benchmark results: one JSON document for each
// benchmark, with the machine it ran on and rows that may compare ours with a
// peer. It makes the medians of alternating runs, and prints tables and plots.
// It measures nothing itself.
package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
)

// SchemaVersion of a Report.
const SchemaVersion = 1

// Report is one benchmark's document, build/bench/NAME.json.
type Report struct {
	SchemaVersion int     `json:"schema_version"`
	Bench         string  `json:"bench"`
	Machine       Machine `json:"machine"`
	Rows          []Row   `json:"rows"`
}

// Row is one figure, or two that are compared. Without a peer Peer, Theirs and
// Ratio are left out.
type Row struct {
	Case   string  `json:"case"`
	Metric string  `json:"metric"`
	Unit   string  `json:"unit"`
	Ours   float64 `json:"ours"`
	Peer   string  `json:"peer,omitempty"`
	Theirs float64 `json:"theirs,omitempty"`
	// Ratio above 1 always means that ours is better.
	Ratio     float64 `json:"ratio,omitempty"`
	Simulated bool    `json:"simulated"`
	Runs      int     `json:"runs"`
}

// Better says which figures of a metric are good.
type Better int

// Directions of Better.
const (
	Higher Better = iota // rates
	Lower                // times
)

// RunsMin is the fewest runs that a comparison may stand on.
const RunsMin = 3

// New makes an empty report of this machine.
func New(name string) *Report {
	return &Report{SchemaVersion: SchemaVersion, Bench: name, Machine: ThisMachine(), Rows: []Row{}}
}

// Measure is one run of something; it returns the figure.
type Measure func() (float64, error)

// Alone runs ours and gives the row of its median. row has Case, Metric, Unit
// and Simulated.
func Alone(row Row, runs int, ours Measure) (Row, error) {
	if runs < 1 {
		return row, fmt.Errorf("%s: %d runs", row.Case, runs)
	}
	figures, err := collect(runs, ours)
	if err != nil {
		return row, fmt.Errorf("%s: %w", row.Case, err)
	}
	row.Ours, row.Runs = Median(figures[0]), runs
	return row, nil
}

// Compare runs ours and theirs in turn and gives the row of their medians.
// row has Case, Metric, Unit, Peer and Simulated. Slow drift of the machine
// meets both sides alike.
func Compare(row Row, better Better, runs int, ours, theirs Measure) (Row, error) {
	switch {
	case row.Peer == "":
		return row, fmt.Errorf("%s: a comparison needs the peer's name", row.Case)
	case runs < RunsMin:
		return row, fmt.Errorf("%s: %d runs are fewer than %d", row.Case, runs, RunsMin)
	}
	figures, err := collect(runs, ours, theirs)
	if err != nil {
		return row, fmt.Errorf("%s: %w", row.Case, err)
	}
	row.Ours, row.Theirs, row.Runs = Median(figures[0]), Median(figures[1]), runs
	row.Ratio = Ratio(better, row.Ours, row.Theirs)
	return row, row.check()
}

// collect makes the runs in turn: each measure once, then again.
func collect(runs int, measures ...Measure) ([][]float64, error) {
	out := make([][]float64, len(measures))
	for run := range runs {
		for i, m := range measures {
			v, err := m()
			if err != nil {
				return nil, fmt.Errorf("run %d: %w", run+1, err)
			}
			out[i] = append(out[i], v)
		}
	}
	return out, nil
}

// Ratio gives how many times better ours is; 0 where that has no meaning.
func Ratio(better Better, ours, theirs float64) float64 {
	if ours <= 0 || theirs <= 0 {
		return 0
	}
	if better == Lower {
		return theirs / ours
	}
	return ours / theirs
}

// Median gives the middle of the figures, of an even number the mean of the
// two in the middle. It does not change them. Of none it is 0.
func Median(figures []float64) float64 {
	if len(figures) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(figures))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

// Check reports what is wrong with the form of r.
func (r *Report) Check() error {
	switch {
	case r.SchemaVersion != SchemaVersion:
		return fmt.Errorf("schema_version %d, want %d", r.SchemaVersion, SchemaVersion)
	case r.Bench == "":
		return errors.New("the benchmark has no name")
	case r.Machine.CPUs == 0:
		return errors.New("the machine is not described")
	case len(r.Rows) == 0:
		return fmt.Errorf("%s: no rows", r.Bench)
	}
	for i := range r.Rows {
		if err := r.Rows[i].check(); err != nil {
			return fmt.Errorf("%s: row %d: %w", r.Bench, i+1, err)
		}
	}
	return nil
}

func (r *Row) check() error {
	switch {
	case r.Case == "" || r.Metric == "" || r.Unit == "":
		return errors.New("case, metric or unit is missing")
	case r.Runs < 1:
		return fmt.Errorf("%s: no runs", r.Case)
	case r.Peer == "" && (r.Theirs != 0 || r.Ratio != 0):
		return fmt.Errorf("%s: compared with nobody", r.Case)
	case r.Peer != "" && r.Runs < RunsMin:
		return fmt.Errorf("%s: %d runs are fewer than %d", r.Case, r.Runs, RunsMin)
	}
	for _, v := range []float64{r.Ours, r.Theirs, r.Ratio} {
		if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
			return fmt.Errorf("%s: %v is no figure", r.Case, v)
		}
	}
	if r.Peer != "" && r.Ratio == 0 && r.Ours > 0 {
		return fmt.Errorf("%s: compared with %s without a ratio", r.Case, r.Peer)
	}
	return nil
}

// Write writes the report to DIR/NAME.json and its plot beside it, and returns
// the path of the JSON file.
func (r *Report) Write(dir string) (string, error) {
	if err := r.Check(); err != nil {
		return "", err
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(dir, r.Bench+".json")
	if err := os.WriteFile(path, append(data, '\n'), 0o644); err != nil {
		return "", err
	}
	return path, os.WriteFile(filepath.Join(dir, r.Bench+".svg"), r.SVG(), 0o644)
}

// Read reads a report and checks it.
func Read(path string) (*Report, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := new(Report)
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, r.Check()
}
