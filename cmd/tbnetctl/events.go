// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/tbnet2/tbnet2/ctl"
)

func newEvents(a *app) *cobra.Command {
	var watch bool
	cmd := &cobra.Command{
		Use:   "events",
		Short: "Show the latest changes of rails and peers (with --watch: all further ones)",
		Args:  wants(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.backend().Events(cmd.Context(), watch, a.printEvent)
		},
	}
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "go on until interrupted")
	return cmd
}

// printEvent prints one line.
func (a *app) printEvent(e ctl.Event) error {
	if a.json {
		return a.printLine(e)
	}
	_, err := fmt.Fprintf(a.out, "%s  %s  %s\n", e.Time.Format(time.RFC3339Nano), e.Kind, e.Message)
	return err
}
