// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tbnet2/tbnet2/lab"
)

// labDone is the JSON document of lab commands that only do something.
type labDone struct {
	SchemaVersion int    `json:"schema_version"`
	Lab           string `json:"lab"`
	Done          string `json:"done"`
}

func (a *app) printDone(f *labFlags, done string) error {
	if a.json {
		return a.printJSON(labDone{lab.SchemaVersion, f.name, done})
	}
	_, _ = fmt.Fprintf(a.out, "%s: %s\n", f.name, done)
	return nil
}

func newLabDown(a *app, f *labFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "End a lab and everything that runs in it",
		Args:  wants(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := f.client()
			if err != nil {
				return err
			}
			cleaned, err := c.Down(cmd.Context())
			if err != nil {
				return labError(err)
			}
			if cleaned {
				return a.printDone(f, "removed what a crash had left")
			}
			return a.printDone(f, "down")
		},
	}
}
