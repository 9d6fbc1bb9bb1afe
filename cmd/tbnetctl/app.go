// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/tbnet2/tbnet2/ctl"
	"github.com/tbnet2/tbnet2/doctor"
)

// Exit codes.
const (
	exitOK    = 0
	exitFail  = 1
	exitUsage = 2
)

// backend is what the commands ask of the daemon or the kernel module.
type backend interface {
	ctl.Backend
	ctl.Bencher
	ctl.Reloader
}

// app is what the commands share. Tests make one of their own with fakes.
type app struct {
	out, err io.Writer
	outTTY   bool // out is a terminal: a watched page replaces the last one
	errTTY   bool // err is a terminal: progress is one line that changes

	dial   func(socket string) backend
	doctor func(socket, config string, devices []string) *doctor.Env
	tick   func(time.Duration) (<-chan time.Time, func())

	// Flags of the root command.
	socket string
	json   bool
}

func newApp() *app {
	return &app{
		out: os.Stdout, err: os.Stderr, outTTY: isTTY(os.Stdout), errTTY: isTTY(os.Stderr),
		dial:   dial,
		doctor: doctor.Machine,
		tick: func(d time.Duration) (<-chan time.Time, func()) {
			t := time.NewTicker(d)
			return t.C, t.Stop
		},
	}
}

func isTTY(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// backend gives the daemon that --socket names, or the kernel module.
func (a *app) backend() backend { return a.dial(a.socket) }

// exitError ends the program with a code of its own. Without Err nothing more
// is printed: the command has said what there was to say.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usagef is an error of the user's, exit code 2.
func usagef(format string, args ...any) error {
	return &exitError{code: exitUsage, err: fmt.Errorf(format, args...)}
}

// run executes one command line and gives the exit code. Errors are one line.
func (a *app) run(ctx context.Context, args []string) int {
	root := newRoot(a)
	root.SetArgs(args)
	root.SetOut(a.out)
	root.SetErr(a.err)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	var exit *exitError
	switch {
	case errors.As(err, &exit) && exit.err == nil:
		return exit.code
	case exit != nil:
		a.complain(exit.err)
		return exit.code
	case strings.HasPrefix(err.Error(), "unknown command"), strings.HasPrefix(err.Error(), "required flag"),
		strings.HasPrefix(err.Error(), "if any flags in the group"), strings.HasPrefix(err.Error(), "at least one of the flags"):
		// Cobra's own errors, which have no type.
		a.complain(err)
		return exitUsage
	}
	a.complain(err)
	return exitFail
}

func (a *app) complain(err error) {
	text := strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", " ")
	_, _ = fmt.Fprintf(a.err, "tbnetctl: %s\n", text)
}

// wants checks the number of arguments and, where it is wrong, says what they
// are. max < 0 is without bound.
func wants(min, max int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= min && (max < 0 || len(args) <= max) {
			return nil
		}
		if len(args) > max && max >= 0 {
			return usagef("unexpected argument %q; usage: %s", args[max], cmd.UseLine())
		}
		return usagef("an argument is missing; usage: %s", cmd.UseLine())
	}
}
