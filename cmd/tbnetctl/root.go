// SPDX-License-Identifier: Apache-2.0

package main

import (
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
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          wants(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
	}
	root.PersistentFlags().StringVar(&a.socket, "socket", ctl.DefaultSocket, "the daemon's socket")
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print JSON (with schema_version) instead of text")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%v (see `%s --help`)", err, cmd.CommandPath())
	})
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddGroup(
		&cobra.Group{ID: groupSetup, Title: "Set up:"},
		&cobra.Group{ID: groupShow, Title: "Show and change:"},
		&cobra.Group{ID: groupTry, Title: "Try and measure:"},
	)
	addGroup(root, groupSetup, newUp(a), newDown(a), newDaemon(a), newDoctor(a), newReport(a))
	addGroup(root, groupShow, newStatus(a), newRails(a), newBond(a), newStats(a), newEvents(a))
	addGroup(root, groupTry, newBench(a))
	root.AddCommand(newCompletion(a), newVersion(a))
	return root
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
	c := &cobra.Command{Use: use, Short: short, Args: func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usagef("%s needs a subcommand (see `%s --help`)", cmd.CommandPath(), cmd.CommandPath())
		}
		return usagef("unknown command %q for %q (see `%s --help`)", args[0], cmd.CommandPath(), cmd.CommandPath())
	}, RunE: func(*cobra.Command, []string) error { return nil }}
	c.AddCommand(cmds...)
	return c
}
