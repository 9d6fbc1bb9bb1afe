// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/tbnet2/tbnet2/ctl"
)

func newStats(a *app) *cobra.Command {
	var watch watchFlags
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Show the counters of rails, peers and drops (with --watch: rates)",
		Args:  wants(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return show(cmd.Context(), a, watch, a.backend().Stats, statsText)
		},
	}
	watch.add(cmd)
	return cmd
}

// statsText prints totals and, where there is an earlier sample, the rates in
// between.
func statsText(w io.Writer, now, before *ctl.Stats) error {
	simulatedNote(w, now.Simulated)
	var rows [][]any
	for i := range now.Rails {
		r := &now.Rails[i]
		c := r.Counters
		tx, rx := railRates(now, before, r)
		rows = append(rows, []any{r.Name, orDash(r.Peer), r.State, size(c.TxBytes), tx, size(c.RxBytes), rx, c.TxFrames, c.RxFrames,
			c.TxLost, c.RxLost, c.RxReordered, c.TxErrors + c.RxErrors, c.RxNoBuffer, c.TxStall, c.CreditWait, c.Flaps})
	}
	err := table(w, []any{"RAIL", "PEER", "STATE", "TX", "TX_RATE", "RX", "RX_RATE", "TX_FRAMES", "RX_FRAMES", "TX_LOST",
		"RX_LOST", "REORDERED", "ERRORS", "NO_BUFFER", "TX_STALL", "CREDIT_WAIT", "FLAPS"}, rows)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintln(w)
	rows = nil
	for _, p := range now.Peers {
		c := p.Counters
		rows = append(rows, []any{p.Name, c.TxPackets, size(c.TxBytes), size(c.TxResentBytes), c.RxPackets, size(c.RxBytes), c.RxReordered, size(c.RxParkedBytes), size(c.TxQueuedBytes)})
	}
	if err := table(w, []any{"PEER", "TX_PACKETS", "TX", "RESENT", "RX_PACKETS", "RX", "REORDERED", "PARKED", "QUEUED"}, rows); err != nil {
		return err
	}
	if d := dropsText(now.Drops); d != "" {
		_, _ = fmt.Fprintf(w, "\ndropped: %s\n", d)
	}
	return nil
}

// railRates gives what a rail carried since the sample before, in bits per
// second; "-" where there is none or the counters began anew.
func railRates(now, before *ctl.Stats, r *ctl.RailStats) (tx, rx string) {
	if before == nil {
		return "-", "-"
	}
	seconds := now.Time.Sub(before.Time).Seconds()
	for i := range before.Rails {
		b := &before.Rails[i]
		if b.Name == r.Name && seconds > 0 && r.Counters.TxBytes >= b.Counters.TxBytes && r.Counters.RxBytes >= b.Counters.RxBytes {
			per := func(bytes uint64) string { return scaled(float64(bytes)*8/seconds, "b/s") }
			return per(r.Counters.TxBytes - b.Counters.TxBytes), per(r.Counters.RxBytes - b.Counters.RxBytes)
		}
	}
	return "-", "-"
}
