// SPDX-License-Identifier: Apache-2.0

// Package rig sets up what benchmarks and fault runs measure: two hosts of the
// lab with rails between them, an outlet on each, and TCP flows whose every byte
// is checked. It is for programs; tests with a testing.TB have rail/netnstest.
//
// A program calls Main first, since hosts need namespaces and processes of
// their own.
package rig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"

	"github.com/tbnet2/tbnet2/lab"
)

// Main is called before anything else in main. An ordinary user's program runs
// again as root of a user namespace, and does not return from here; nor does a
// process that is host b of an Apart.
func Main() {
	if err := enter(); err != nil {
		Fail(err)
	}
	if config, ok := os.LookupEnv(servedVar); ok {
		if err := beServed(config); err != nil {
			Fail(err)
		}
		os.Exit(0)
	}
}

// Fail ends the program with an error.
func Fail(err error) {
	fmt.Fprintln(os.Stderr, "error:", err)
	os.Exit(1)
}

func enter() error {
	if err := lab.Main(); err != nil {
		return err
	}
	d := lab.Detect()
	if s := d.Get(lab.ModeNamespaces); s.OK {
		return nil
	}
	s := d.Get(lab.ModeUserNamespace)
	switch {
	case !s.OK:
		return fmt.Errorf("needs network namespaces: %s", s.Why)
	case !s.Enter:
		return nil
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	code, err := lab.Enter(ctx, lab.EnterOptions{Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr})
	if err == nil {
		os.Exit(code)
	}
	return err
}

// mode is the one with namespaces that this process has, after Main.
func mode() (lab.Mode, error) {
	d := lab.Detect()
	for _, m := range []lab.Mode{lab.ModeNamespaces, lab.ModeUserNamespace} {
		if s := d.Get(m); s.OK && !s.Enter {
			return m, nil
		}
	}
	return "", errors.New("no network namespaces: call Main first")
}
