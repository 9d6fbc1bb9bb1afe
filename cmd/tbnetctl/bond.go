// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net/netip"

	"github.com/spf13/cobra"

	"github.com/tbnet2/tbnet2/ctl"
)

func newBond(a *app) *cobra.Command {
	return group("bond", "Show and change bonds", newBondShow(a), newBondSet(a))
}

// bondList is the JSON document of `bond show`.
type bondList struct {
	SchemaVersion int        `json:"schema_version"`
	Simulated     bool       `json:"simulated"`
	Bonds         []ctl.Bond `json:"bonds"`
}

func newBondShow(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "show [BOND]",
		Short: "Show the bonds, or one",
		Args:  wants(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.backend().Status(cmd.Context())
			if err != nil {
				return err
			}
			out := bondList{ctl.SchemaVersion, s.Simulated, s.Bonds}
			if len(args) == 1 {
				b, ok := s.Bond(args[0])
				if !ok {
					return ctl.Errorf(ctl.CodeNotFound, "no bond %q (see `tbnetctl bond show`)", args[0])
				}
				out.Bonds = []ctl.Bond{*b}
			}
			return a.printBonds(out)
		},
	}
}

func (a *app) printBonds(l bondList) error {
	if a.json {
		return a.printJSON(l)
	}
	simulatedNote(a.out, l.Simulated)
	var rows [][]any
	for i := range l.Bonds {
		b := &l.Bonds[i]
		rows = append(rows, []any{b.Name, b.Kind, carrier(b.Carrier), b.MTU, b.MaxPacket, rate(b.RateBPS), list(b.Peers), list(b.Addresses)})
	}
	return table(a.out, []any{"BOND", "KIND", "STATE", "MTU", "MAX_PACKET", "RATE", "PEERS", "ADDRESSES"}, rows)
}

// Bounds of a bond's MTU: IPv6 needs the one, an IP packet's length the other.
const (
	mtuMin = 1280
	mtuMax = 65535
)

func newBondSet(a *app) *cobra.Command {
	change := ctl.BondChange{}
	cmd := &cobra.Command{
		Use:     "set BOND",
		Short:   "Change a bond's MTU, or give it addresses",
		Example: "  tbnetctl bond set tbbond0 --mtu 9000 --address 10.0.0.1/24",
		Args:    wants(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			change.Name = args[0]
			if err := checkChange(cmd, change); err != nil {
				return err
			}
			if err := a.backend().SetBond(cmd.Context(), change); err != nil {
				return err
			}
			s, err := a.backend().Status(cmd.Context())
			if err != nil {
				return err
			}
			b, ok := s.Bond(change.Name)
			if !ok {
				return fmt.Errorf("%s has gone meanwhile", change.Name)
			}
			return a.printBonds(bondList{ctl.SchemaVersion, s.Simulated, []ctl.Bond{*b}})
		},
	}
	cmd.Flags().IntVar(&change.MTU, "mtu", 0, "largest IP packet in `BYTES`")
	cmd.Flags().StringSliceVar(&change.Addresses, "address", nil, "add an `ADDRESS/PREFIX` (may be given again)")
	return cmd
}

func checkChange(cmd *cobra.Command, change ctl.BondChange) error {
	if !cmd.Flags().Changed("mtu") && len(change.Addresses) == 0 {
		return usagef("nothing to change: give --mtu or --address")
	}
	if cmd.Flags().Changed("mtu") && (change.MTU < mtuMin || change.MTU > mtuMax) {
		return usagef("--mtu %d is not from %d to %d", change.MTU, mtuMin, mtuMax)
	}
	for _, addr := range change.Addresses {
		if _, err := netip.ParsePrefix(addr); err != nil {
			return usagef("--address %q is no ADDRESS/PREFIX such as 10.0.0.1/24", addr)
		}
	}
	return nil
}
