// SPDX-License-Identifier: Apache-2.0

package lab_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tbnet2/tbnet2/lab"
)

// TestMain enters a user namespace where this process may not make network
// namespaces itself, so that the same tests run for an ordinary user.
func TestMain(m *testing.M) {
	if err := lab.Main(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if s := lab.Detect().Get(lab.ModeUserNamespace); s.Enter && !lab.Detect().Get(lab.ModeNamespaces).OK {
		code, err := lab.Enter(context.Background(), lab.EnterOptions{
			Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(code)
	}
	goleak.VerifyTestMain(m)
}

// netMode is the mode with namespaces that this process has.
func netMode(t testing.TB) lab.Mode {
	t.Helper()
	d := lab.Detect()
	for _, m := range []lab.Mode{lab.ModeNamespaces, lab.ModeUserNamespace} {
		if s := d.Get(m); s.OK && !s.Enter {
			return m
		}
	}
	t.Skipf("needs network namespaces: %s; %s", d.Get(lab.ModeNamespaces).Why, d.Get(lab.ModeUserNamespace).Why)
	return ""
}

// build makes a lab that ends with the test.
func build(t testing.TB, topo lab.Topology, mode lab.Mode) *lab.Lab {
	t.Helper()
	l, err := lab.New(t.Context(), topo, mode)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return l
}

// eventually polls a condition until it holds.
func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	if err := poll(what, cond); err != nil {
		t.Fatal(err)
	}
}

// poll is eventually for goroutines that may not end the test.
func poll(what string, cond func() bool) error {
	deadline := time.After(10 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-deadline:
			return fmt.Errorf("still not: %s", what)
		}
	}
	return nil
}
