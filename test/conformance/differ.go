// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tbnet2/tbnet2/test/conformance/script"
)

// Difference tells where the cores differ: at the step's first line that does.
type Difference struct {
	Step    int
	Go, C   string
	Program string // what the C program said as it ended; else empty
}

// Error gives it as text.
func (d *Difference) Error() string {
	if d.Program != "" {
		return d.Program
	}
	return fmt.Sprintf("step %d\n  Go %s\n  C  %s", d.Step, d.Go, d.C)
}

// compare gives the first difference of what the cores have said, or nil.
func compare(goSteps, cSteps [][]string) error {
	for i := range max(len(goSteps), len(cSteps)) {
		var g, c []string
		if i < len(goSteps) {
			g = goSteps[i]
		}
		if i < len(cSteps) {
			c = cSteps[i]
		}
		for k := range max(len(g), len(c)) {
			d := &Difference{Step: i, Go: "nothing more", C: "nothing more"}
			if k < len(g) {
				d.Go = g[k]
			}
			if k < len(c) {
				d.C = c[k]
			}
			if d.Go != d.C {
				return d
			}
		}
	}
	return nil
}

// Differ plays scripts in the C core and compares. It starts the program again
// after it has ended. Its methods must not run at the same time.
type Differ struct {
	program string
	runner  *Runner
}

// NewDiffer uses a program that BuildRunner has made.
func NewDiffer(program string) *Differ { return &Differ{program: program} }

// Compare plays a script in the C core, and gives the first difference to what
// Go has said, or nil.
func (d *Differ) Compare(lines []string, goSteps [][]string, goLeft error) error {
	if d.runner == nil {
		r, err := StartRunner(d.program)
		if err != nil {
			return err
		}
		d.runner = r
	}
	steps, err := d.runner.Play(lines)
	if err != nil && !errors.Is(err, ErrLeft) {
		d.runner = nil
		return &Difference{Step: len(steps), Program: err.Error()}
	}
	if diff := compare(goSteps, steps); diff != nil {
		return diff
	}
	if (err == nil) != (goLeft == nil) {
		return &Difference{Step: len(steps), Go: fmt.Sprint("end: ", goLeft), C: fmt.Sprint("end: ", err)}
	}
	return nil
}

// Close ends the program.
func (d *Differ) Close() error {
	if d.runner == nil {
		return nil
	}
	return d.runner.Close()
}

// play plays lines in the Go core; ok is false where they are no script.
func play(lines []string) (steps [][]string, left error, ok bool) {
	s, err := script.Parse("minimised", strings.Join(lines, "\n"))
	if err != nil {
		return nil, nil, false
	}
	steps, err = s.Play()
	if len(steps) < len(s.Steps) {
		return nil, nil, false
	}
	return steps, err, true
}

// differs reports whether the cores differ on lines.
func (d *Differ) differs(lines []string) bool {
	steps, left, ok := play(lines)
	return ok && d.Compare(lines, steps, left) != nil
}

// Minimise takes lines away from a script on which the cores differ, as long
// as they still do.
func (d *Differ) Minimise(lines []string) []string {
	for chunk := len(lines) / 2; chunk > 0; {
		shorter := false
		for at := 1; at < len(lines); { // the config stays
			fewer := slices.Concat(lines[:at], lines[min(len(lines), at+chunk):])
			if d.differs(fewer) {
				lines, shorter = fewer, true
				continue
			}
			at += chunk
		}
		if !shorter || chunk > len(lines) {
			chunk /= 2
		}
	}
	return lines
}
