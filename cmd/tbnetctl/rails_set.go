// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tbnet2/tbnet2/ctl"
)

func newRailsSet(a *app) *cobra.Command {
	var count int
	cmd := &cobra.Command{
		Use:   "set PEER|BOND RAIL[=WEIGHT],...|--count N",
		Short: "Choose which rails carry the traffic to a peer or bond",
		Long: `Choose which rails carry the traffic to a peer, or to all peers of a bond.
Just these are used afterwards; the others stay connected and idle. A rail
without a weight gets the share that its measured rate gives it. With --count
the best N are chosen: up before down, then the fastest.`,
		Example: `  tbnetctl rails set node2 tbr0,tbr1=2
  tbnetctl rails set node2 --count 4
  tbnetctl rails set tbbond0 tbr0,tbr1`,
		DisableFlagsInUseLine: true,
		Args:                  wants(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			set, err := parseSet(args, count, cmd.Flags().Changed("count"))
			if err != nil {
				return err
			}
			used, err := a.backend().SetRails(cmd.Context(), set)
			if err != nil {
				return err
			}
			return a.printUsed(used)
		},
	}
	cmd.Flags().IntVar(&count, "count", 0, "use the best `N` rails")
	return cmd
}

// parseSet checks the command line as far as that is possible without the
// daemon, so that nothing wrong is ever sent.
func parseSet(args []string, count int, counted bool) (ctl.RailSet, error) {
	set := ctl.RailSet{Target: args[0]}
	switch {
	case counted && len(args) == 2:
		return set, usagef("give the rails (%s) or --count, not both", args[1])
	case counted && count < 1:
		return set, usagef("--count %d: at least 1 rail is needed (to stop the traffic use `tbnetctl down`)", count)
	case counted:
		set.Count = count
		return set, nil
	case len(args) < 2:
		return set, usagef("which rails? give a list such as tbr0,tbr1=2, or --count N")
	}
	rails, err := ctl.ParseRails(args[1])
	if err != nil {
		return set, usagef("%v", err)
	}
	set.Rails = rails
	return set, nil
}

func (a *app) printUsed(used *ctl.RailsInUse) error {
	if a.json {
		return a.printJSON(used)
	}
	for _, p := range used.Peers {
		var parts []string
		for _, r := range p.Rails {
			if r.Weight == 0 {
				parts = append(parts, r.Name)
			} else {
				parts = append(parts, fmt.Sprintf("%s=%d", r.Name, r.Weight))
			}
		}
		_, _ = fmt.Fprintf(a.out, "%s: %s\n", p.Peer, strings.Join(parts, ", "))
	}
	return nil
}
