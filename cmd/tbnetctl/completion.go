// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/spf13/cobra"

func newCompletion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:       "completion bash|zsh|fish",
		Short:     "Print the completion script of a shell",
		ValidArgs: []string{"bash", "zsh", "fish"},
		Args:      wants(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch root := cmd.Root(); args[0] {
			case "bash":
				return root.GenBashCompletionV2(a.out, true)
			case "zsh":
				return root.GenZshCompletion(a.out)
			case "fish":
				return root.GenFishCompletion(a.out, true)
			}
			return usagef("no completion for %q: bash, zsh or fish", args[0])
		},
	}
}
