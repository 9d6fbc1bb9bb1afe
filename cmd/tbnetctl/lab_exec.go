// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/tbnet2/tbnet2/lab"
)

func newLabExec(a *app, f *labFlags) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "exec HOST [--] COMMAND [ARGUMENT...]",
		Short:   "Run a command in a host of a lab; its exit code is this one's",
		Example: "  tbnetctl lab exec a -- ip link",
		Args:    wants(2, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			command := args[1:]
			if command[0] == "--" { // after HOST it is not the flag parser's
				command = command[1:]
			}
			if len(command) == 0 {
				return usagef("no command; usage: %s", cmd.UseLine())
			}
			c, err := f.client()
			if err != nil {
				return err
			}
			// The command gets the signals itself; it decides what they mean.
			code, err := c.Exec(context.WithoutCancel(cmd.Context()), lab.ExecOptions{
				Host: args[0], Args: command, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
				Terminal: isTTY(os.Stdin), Signals: true,
			})
			if err != nil {
				return labError(err)
			}
			if code != 0 {
				return &exitError{code: code}
			}
			return nil
		},
	}
	cmd.Flags().SetInterspersed(false) // what follows HOST is the command's
	return cmd
}
