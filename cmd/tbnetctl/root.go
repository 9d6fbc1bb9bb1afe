// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/tbnet2/tbnet2/ctl"
)

// newRoot makes the whole tree of commands.
func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "tbnetctl",
		Short: "Thunderbolt and USB4 cables as one fast network",
		Long: `tbnetctl makes one network of all Thunderbolt/USB4 cables (or Ethernet devices)
between hosts, shows it and checks it.

Exit codes: 0 all is well, 1 a warning or failure, 2 wrong usage
(of doctor: 0 OK, 1 WARN, 2 FAIL).`,
		SuggestionsMinimumDistance: 2,
		SilenceUsage:               true,
		SilenceErrors:              true,
		Args:                       noSubcommand(false),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
	}
	root.PersistentFlags().StringVar(&a.socket, "socket", ctl.DefaultSocket, "the daemon's socket; without it a loaded kernel module answers")
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print JSON (with schema_version) instead of text")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%s (see `%s --help`)", plainFlagError(err), cmd.CommandPath())
	})
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddGroup(
		&cobra.Group{ID: groupSetup, Title: "Set up:"},
		&cobra.Group{ID: groupShow, Title: "Show and change:"},
		&cobra.Group{ID: groupTry, Title: "Try and measure:"},
	)
	addGroup(root, groupSetup, newUp(a), newDown(a), newDaemon(a), newDoctor(a), newReport(a))
	addGroup(root, groupShow, newStatus(a), newRails(a), newBond(a), newStats(a), newEvents(a))
	addGroup(root, groupTry, newDemo(a), newLab(a), newBench(a))
	root.AddCommand(newCompletion(a), newVersion(a), newManual())
	return root
}

// plainFlagError takes the name of a Go function out of a flag's error.
func plainFlagError(err error) string {
	text, _, found := strings.Cut(err.Error(), "strconv.")
	if found {
		return text + "not a whole number in range"
	}
	return text
}

const (
	groupSetup = "setup"
	groupShow  = "show"
	groupTry   = "try"
)

func addGroup(root *cobra.Command, id string, cmds ...*cobra.Command) {
	for _, c := range cmds {
		c.GroupID = id
		root.AddCommand(c)
	}
}

// group makes a command that only holds others.
func group(use, short string, cmds ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: noSubcommand(true), SuggestionsMinimumDistance: 2,
		RunE: func(*cobra.Command, []string) error { return nil }}
	c.AddCommand(cmds...)
	return c
}

// noSubcommand is the Args of a command that only holds others: whatever comes
// to it is not one of them.
func noSubcommand(needed bool) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		path := cmd.CommandPath()
		if len(args) == 0 {
			if needed {
				return usagef("%s needs a subcommand (see `%s --help`)", path, path)
			}
			return nil
		}
		if s := cmd.SuggestionsFor(args[0]); len(s) > 0 {
			return usagef("unknown command %q for %q; did you mean %s?", args[0], path, strings.Join(s, " or "))
		}
		return usagef("unknown command %q for %q (see `%s --help`)", args[0], path, path)
	}
}
