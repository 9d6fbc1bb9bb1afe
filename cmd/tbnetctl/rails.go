// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/tbnet2/tbnet2/ctl"
)

func newRails(a *app) *cobra.Command {
	return group("rails", "List rails, choose which are used, take them up and down",
		newRailsList(a), newRailsSet(a), newRailsSwitch(a, true), newRailsSwitch(a, false))
}

// railList is the JSON document of `rails list`.
type railList struct {
	SchemaVersion int        `json:"schema_version"`
	Simulated     bool       `json:"simulated"`
	Rails         []ctl.Rail `json:"rails"`
}

func newRailsList(a *app) *cobra.Command {
	var watch watchFlags
	cmd := &cobra.Command{
		Use:   "list [PEER]",
		Short: "List the rails, or those to one peer",
		Args:  wants(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return show(cmd.Context(), a, watch, railLister(a, args), func(w io.Writer, now, _ *railList) error {
				simulatedNote(w, now.Simulated)
				return railsTable(w, now.Rails)
			})
		},
	}
	watch.add(cmd)
	return cmd
}

// railLister gives the function that fetches the list for the arguments.
func railLister(a *app, args []string) func(context.Context) (*railList, error) {
	return func(ctx context.Context) (*railList, error) {
		s, err := a.backend().Status(ctx)
		if err != nil {
			return nil, err
		}
		out := &railList{SchemaVersion: ctl.SchemaVersion, Simulated: s.Simulated, Rails: s.Rails}
		if len(args) == 0 {
			return out, nil
		}
		p, ok := s.Peer(args[0])
		if !ok {
			return nil, ctl.Errorf(ctl.CodeNotFound, "no peer %q (see `tbnetctl status`)", args[0])
		}
		out.Rails = slices.DeleteFunc(slices.Clone(s.Rails), func(r ctl.Rail) bool { return !slices.Contains(p.Rails, r.Name) })
		return out, nil
	}
}
