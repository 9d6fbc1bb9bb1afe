// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tbnet2/tbnet2/ctl"
)

// railSwitched is the JSON document of `rails up` and `rails down`.
type railSwitched struct {
	SchemaVersion int    `json:"schema_version"`
	Rail          string `json:"rail"`
	Enabled       bool   `json:"enabled"`
}

// newRailsSwitch makes `rails up` or `rails down`.
func newRailsSwitch(a *app, up bool) *cobra.Command {
	word, short := "down", "Take a rail out of service; its traffic moves to the others"
	if up {
		word, short = "up", "Take a rail back into service"
	}
	return &cobra.Command{
		Use:   word + " RAIL",
		Short: short,
		Args:  wants(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.backend().SetRailUp(cmd.Context(), args[0], up); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(railSwitched{ctl.SchemaVersion, args[0], up})
			}
			_, _ = fmt.Fprintf(a.out, "%s is %s\n", args[0], word)
			return nil
		},
	}
}
