// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/tbnet2/tbnet2/lab"
)

// labFlags are the flags of all lab commands.
type labFlags struct {
	name string
	dir  string
}

func newLab(a *app) *cobra.Command {
	f := &labFlags{}
	cmd := group("lab", "Hosts, cables and faults on this machine, without hardware",
		newLabUp(a, f), newLabDown(a, f), newLabStatus(a, f), newLabExec(a, f),
		newLabCarrier(a, f, false), newLabCarrier(a, f, true), newLabSet(a, f), newLabVerify(a, f))
	cmd.Long = `Build hosts that are joined by cables with a link model (rate, delay, loss), run
programs in them, and break things. As root hosts are network namespaces; for
others they are the same inside a user namespace, or live in memory where even
that is not allowed. All figures of a lab are simulated.`
	cmd.Example = `  tbnetctl lab up --cables 2 --rails 2 --rate 5gbit --delay 50us
  tbnetctl lab exec a -- tbnetctl status
  tbnetctl lab unplug cable1
  tbnetctl lab set cable2 loss=1%,delay=2ms
  tbnetctl lab verify
  tbnetctl lab down`
	cmd.PersistentFlags().StringVar(&f.name, "name", "lab", "the lab's `NAME`")
	cmd.PersistentFlags().StringVar(&f.dir, "dir", "", "`FOLDER` of the labs' state (default: one for each user)")
	return cmd
}

// client gives the client of the lab that the flags name.
func (f *labFlags) client() (*lab.Client, error) {
	c, err := lab.NewClient(f.dir, f.name)
	if err != nil {
		return nil, usagef("%v", err)
	}
	return c, nil
}

// labError says what to do about errors that a user meets often.
func labError(err error) error {
	switch {
	case errors.Is(err, lab.ErrNoLab):
		return &exitError{exitFail, errors.Join(err, errors.New("(start one with `tbnetctl lab up`)"))}
	case errors.Is(err, lab.ErrExists):
		return &exitError{exitFail, errors.Join(err, errors.New("(end it with `tbnetctl lab down`, or give --name another name)"))}
	}
	return err
}
