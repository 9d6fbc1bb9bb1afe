// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"flag"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/tbnet2/tbnet2/test/conformance/script"
)

// bless writes the expect lines of a new script; each is then read against
// docs/protocol.md before it is kept.
var bless = flag.String("bless", "", "name of the one script whose expect lines are written anew")

const (
	root      = "../.."
	scriptDir = root + "/test/vectors/scripts"
)

// builtRunner compiles the runner once for all tests.
var builtRunner = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(root, "build", "conformance")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	return BuildRunner(root, dir)
})

func runnerProgram(t testing.TB) string {
	t.Helper()
	program, err := builtRunner()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

func startRunner(t testing.TB) *Runner {
	t.Helper()
	r, err := StartRunner(runnerProgram(t))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func readScripts(t testing.TB) []*script.Script {
	t.Helper()
	all, err := script.ReadAll(scriptDir)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 50 {
		t.Fatalf("%d scripts, want at least 50", len(all))
	}
	return all
}

// TestScripts replays every script of test/vectors/scripts in the Go core:
// what comes out at each step is compared line by line.
func TestScripts(t *testing.T) {
	for _, s := range readScripts(t) {
		t.Run(s.Name(), func(t *testing.T) {
			got, err := s.Play()
			if err != nil {
				t.Fatal(err)
			}
			if *bless == s.Name() {
				if err := s.Write(s.File, got); err != nil {
					t.Fatal(err)
				}
				return
			}
			if err := s.Check(got); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestScriptsC replays them in the C core.
func TestScriptsC(t *testing.T) {
	r := startRunner(t)
	for _, s := range readScripts(t) {
		ok := t.Run(s.Name(), func(t *testing.T) {
			got, err := r.Play(s.Bare())
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != len(s.Steps) {
				t.Fatalf("%d steps played of %d", len(got), len(s.Steps))
			}
			if err := s.Check(got); err != nil {
				t.Fatal(err)
			}
		})
		if !ok {
			r = startRunner(t)
		}
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
