// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/tbnet2/tbnet2/lab"
)

func newLabStatus(a *app, f *labFlags) *cobra.Command {
	var watch watchFlags
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show a lab's hosts and rails, with what became of their frames",
		Args:  wants(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := f.client()
			if err != nil {
				return err
			}
			fetch := func(ctx context.Context) (*labDocument, error) {
				st, err := c.Status(ctx)
				return &labDocument{lab.SchemaVersion, st}, labError(err)
			}
			return show(cmd.Context(), a, watch, fetch, func(w io.Writer, now, _ *labDocument) error { return labText(w, &now.Status) })
		},
	}
	watch.add(cmd)
	return cmd
}
