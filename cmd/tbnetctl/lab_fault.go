// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/tbnet2/tbnet2/lab"
)

// newLabCarrier makes `lab plug` or `lab unplug`.
func newLabCarrier(a *app, f *labFlags, up bool) *cobra.Command {
	word, short := "unplug", "Pull a cable, or one rail of it"
	if up {
		word, short = "plug", "Put a cable or rail back"
	}
	return &cobra.Command{
		Use:   word + " CABLE|RAIL",
		Short: short,
		Args:  wants(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := f.client()
			if err != nil {
				return err
			}
			do := c.Unplug
			if up {
				do = c.Plug
			}
			if err := do(cmd.Context(), args[0]); err != nil {
				return labError(err)
			}
			return a.printDone(f, word+" "+args[0])
		},
	}
}

func newLabSet(a *app, f *labFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "set CABLE|RAIL KEY=VALUE,...",
		Short: "Change a cable's rate, delay, jitter or loss, or make it discard frames",
		Example: `  tbnetctl lab set cable1 loss=1%,delay=2ms
  tbnetctl lab set cable1.0 discard=on,from=a`,
		Args: wants(2, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := f.client()
			if err != nil {
				return err
			}
			ch, err := lab.ParseChange(strings.Join(args[1:], ","))
			if err != nil {
				return usagef("%v", err)
			}
			if err := c.Set(cmd.Context(), args[0], ch); err != nil {
				return labError(err)
			}
			return a.printDone(f, "set "+args[0]+" "+ch.String())
		},
	}
}
