// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tbnet2/tbnet2/lab"
)

// verifyDocument is the JSON document of `lab verify`.
type verifyDocument struct {
	SchemaVersion int `json:"schema_version"`
	lab.Report
}

func newLabVerify(a *app, f *labFlags) *cobra.Command {
	plan := lab.VerifyPlan{}
	var bytes, over string
	cmd := &cobra.Command{
		Use:   "verify [FROM TO]",
		Short: "Send data over one TCP connection between two hosts and compare the hashes",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return usagef("name both hosts or none; usage: %s", cmd.UseLine())
			}
			return wants(0, 2)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				plan.From, plan.To = args[0], args[1]
			}
			n, err := lab.ParseSize(bytes)
			if err != nil {
				return usagef("--bytes: %v", err)
			}
			plan.Bytes, plan.Over = uint64(n), lab.Over(over)
			c, err := f.client()
			if err != nil {
				return err
			}
			p := &progress{a: a}
			p.step("sending "+bytes, "")
			r, err := c.Verify(cmd.Context(), plan)
			p.done()
			if err != nil {
				return labError(err)
			}
			return a.printVerified(r)
		},
	}
	cmd.Flags().StringVar(&bytes, "bytes", "64m", "how much to send, with k, m or g for powers of 1024")
	cmd.Flags().StringVar(&over, "over", string(lab.OverFabric), "fabric (all rails) or kernel (one rail, the kernel's TCP)")
	cmd.Flags().StringVar(&plan.Rail, "rail", "", "with --over kernel: the cable or rail")
	return cmd
}

func (a *app) printVerified(r lab.Report) error {
	if a.json {
		if err := a.printJSON(verifyDocument{lab.SchemaVersion, r}); err != nil {
			return err
		}
	} else {
		_, _ = fmt.Fprintf(a.out, "SIMULATED (%s) %s to %s over the %s: %s in %.2f s, %v, longest stall %.1f ms\n", r.Mode, r.From, r.To, r.Over, size(r.Bytes), r.Seconds, r.Rate, r.StallMS)
		_, _ = fmt.Fprintf(a.out, "sha256 sent     %s\nsha256 received %s\n", r.Sent, r.Received)
	}
	if !r.Equal {
		return fmt.Errorf("the hashes differ: %s was sent, %s received", r.Sent, r.Received)
	}
	return nil
}
