// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/tbnet2/tbnet2/test/rig"
)

// counters sums up what both ends tell.
func counters(p *rig.Pair) map[string]uint64 {
	m := map[string]uint64{}
	for _, h := range []*rig.Host{p.A, p.B} {
		for _, peer := range h.Fabric.Status().Peers {
			m["lost"] += peer.Send.Lost
			m["resent"] += peer.Send.ResentFrames
			m["out_of_order"] += peer.Receive.OutOfOrder
			m["rail_reordered"] += peer.Receive.RailReordered
			m["hole_timeouts"] += peer.Receive.HoleTimeouts
			peer.Receive.Drops.Each(func(reason string, n uint64) { m[reason] += n })
			for _, r := range peer.Rails {
				m["flaps"] += r.Flaps
				m["suspicions"] += r.Suspicions
			}
		}
	}
	return m
}

// judge holds what moved against what the cell says.
func (c cell) judge(moved map[string]uint64) error {
	must := map[string]bool{}
	for _, name := range c.moves {
		must[name] = true
		if moved[name] == 0 {
			return fmt.Errorf("counter %s did not move", name)
		}
	}
	for _, name := range clean() {
		if !must[name] && moved[name] != 0 {
			return fmt.Errorf("counter %s moved by %d", name, moved[name])
		}
	}
	return nil
}
