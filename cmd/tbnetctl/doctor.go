// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tbnet2/tbnet2/doctor"
)

func newDoctor(a *app) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check every layer and say what to mend (exit 0 OK, 1 WARN, 2 FAIL)",
		Args:  wants(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			r := doctor.Run(cmd.Context(), a.machine(file), doctor.Checks())
			if err := a.printReport(r); err != nil {
				return err
			}
			if r.Level == doctor.OK {
				return nil
			}
			return &exitError{code: int(r.Level)}
		},
	}
	configFlag(cmd, &file)
	return cmd
}

// printReport prints one line for each check, and below a fault its fix.
func (a *app) printReport(r *doctor.Report) error {
	if a.json {
		return a.printJSON(r)
	}
	simulatedNote(a.out, r.Simulated)
	var untold []string
	for _, f := range r.Findings {
		if f.Untold {
			untold = append(untold, f.Check)
			continue
		}
		_, _ = fmt.Fprintf(a.out, "%-4s  %-15s  %s\n", f.Level, f.Check, f.Cause)
		if f.Fix != "" {
			_, _ = fmt.Fprintf(a.out, "%-4s  %-15s  fix: %s\n", "", "", f.Fix)
		}
	}
	if len(untold) > 0 {
		_, _ = fmt.Fprintf(a.out, "WARN  %-15s  cannot be told without the daemon: %s\n", plural(len(untold), "check"), strings.Join(untold, ", "))
	}
	if r.First != nil {
		_, _ = fmt.Fprintf(a.out, "\nFirst mend the %s: %s\n", r.First.Layer, r.First.Cause)
	}
	return nil
}
