// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tbnet2/tbnet2/ctl"
)

func newStatus(a *app) *cobra.Command {
	var watch watchFlags
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show this host, its bonds, peers and rails",
		Args:  wants(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return show(cmd.Context(), a, watch, a.backend().Status, func(w io.Writer, now, _ *ctl.Status) error { return statusText(w, now) })
		},
	}
	watch.add(cmd)
	return cmd
}

// statusText prints a status for people.
func statusText(w io.Writer, s *ctl.Status) error {
	simulatedNote(w, s.Simulated)
	_, _ = fmt.Fprintf(w, "host  %s  %s  (%s %s)\n", s.Host.Name, s.Host.UUID, s.Host.Backend, s.Host.Version)
	for i := range s.Bonds {
		b := &s.Bonds[i]
		_, _ = fmt.Fprintf(w, "bond  %s  %s  %s  MTU %d  %s  %s\n", b.Name, b.Kind, carrier(b.Carrier), b.MTU, rate(b.RateBPS), list(b.Addresses))
	}
	for i := range s.Peers {
		p := &s.Peers[i]
		_, _ = fmt.Fprintf(w, "peer  %s  %s  %s%s  %s  %s  round trip %s  %s\n", orDash(p.Name), p.UUID, p.State, because(p.Reason),
			plural(len(p.Rails), "rail"), rate(p.RateBPS), span(p.RTTNS), list(p.Addresses))
	}
	_, _ = fmt.Fprintln(w)
	if err := railsTable(w, s.Rails); err != nil {
		return err
	}
	if d := dropsText(s.Drops); d != "" {
		_, _ = fmt.Fprintf(w, "\ndropped: %s\n", d)
	}
	for _, warning := range s.Warnings {
		_, _ = fmt.Fprintf(w, "warning: %s\n", warning.Message)
	}
	return nil
}

func carrier(up bool) string {
	if up {
		return "up"
	}
	return "no carrier"
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + reason + ")"
}

// dropsText lists the drops that happened.
func dropsText(drops []ctl.Drop) string {
	var parts []string
	for _, d := range drops {
		if d.Count > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", d.Reason, d.Count))
		}
	}
	return strings.Join(parts, ", ")
}

// railsTable prints one row for each rail.
func railsTable(w io.Writer, rails []ctl.Rail) error {
	var rows [][]any
	for i := range rails {
		r := &rails[i]
		rows = append(rows, []any{r.Name, r.Device, orDash(r.Peer), railState(r), use(r), rate(r.LinkBPS), rate(r.RateBPS), span(r.DelayNS), span(r.RTTNS), r.MTU, orDash(r.Reason)})
	}
	return table(w, []any{"RAIL", "DEVICE", "PEER", "STATE", "USE", "LINK", "MEASURED", "DELAY", "RTT", "MTU", "REASON"}, rows)
}

func railState(r *ctl.Rail) string {
	if !r.Enabled {
		return "off"
	}
	return string(r.State)
}

// use tells whether the rail carries traffic and with which share.
func use(r *ctl.Rail) string {
	switch {
	case !r.InUse:
		return "no"
	case r.Weight != 0:
		return fmt.Sprintf("=%d", r.Weight)
	}
	return "auto"
}
