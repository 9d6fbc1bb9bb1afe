// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tbnet2/tbnet2/test/conformance/generate"
	"github.com/tbnet2/tbnet2/test/conformance/script"
)

var (
	scripts = flag.Uint64("scripts", 1000, "generated scripts that TestDifferential plays in both cores")
	seed    = flag.Uint64("seed", 0, "the one generated script to play, 0: all")
)

// TestDifferential plays generated scripts in both cores. On a difference it
// leaves a minimised script in build/conformance.
func TestDifferential(t *testing.T) {
	program := runnerProgram(t)
	if *seed != 0 {
		d := NewDiffer(program)
		differential(t, d, *seed)
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		return
	}
	var next atomic.Uint64
	for worker := range runtime.GOMAXPROCS(0) {
		t.Run(fmt.Sprint("worker", worker), func(t *testing.T) {
			t.Parallel()
			d := NewDiffer(program)
			for s := next.Add(1); s <= *scripts && !t.Failed(); s = next.Add(1) {
				differential(t, d, s)
			}
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// generated gives the script of a seed: every fifth one of a handshake.
func generated(seed uint64) generate.Script {
	if seed%5 == 0 {
		return generate.NewGreeting(seed)
	}
	return generate.New(seed)
}

// differential plays the script of one seed.
func differential(t *testing.T, d *Differ, seed uint64) {
	t.Helper()
	s := generated(seed)
	if s.Left != nil {
		t.Errorf("seed %d: Go: %v", seed, s.Left)
	}
	err := d.Compare(s.Lines, s.Got, s.Left)
	if err == nil {
		return
	}
	file := leave(t, d, seed, s.Lines)
	t.Errorf("seed %d: %v\nreplay: go test ./test/conformance -run 'TestDifferential$' -seed=%d\nminimised: %s", seed, err, seed, file)
}

// leave writes the minimised script with what Go expects, and gives its name.
func leave(t *testing.T, d *Differ, seed uint64, lines []string) string {
	t.Helper()
	file := filepath.Join(root, "build", "conformance", fmt.Sprintf("differs-%d.txt", seed))
	if d.differs(lines) {
		lines = d.Minimise(lines)
	}
	s, err := script.Parse(file, strings.Join(lines, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	got, left := s.Play()
	s.Head = append([]string{"# " + strings.ReplaceAll(fmt.Sprint(d.Compare(lines, got, left)), "\n", "\n# ")}, s.Head...)
	if err := s.Write(file, got); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Fatal(err)
	}
	return file
}
