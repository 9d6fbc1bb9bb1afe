// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"testing"

	"github.com/tbnet2/tbnet2/transport"
	"github.com/tbnet2/tbnet2/wire"
)

// TestMemoryIsShared: peers that take all they can leave something for one that
// comes later, and together stay within the bound.
func TestMemoryIsShared(t *testing.T) {
	const hoarders = 20
	m := memory{most: heldMost(1 << 20)}
	var held []*transport.Buffer
	fill := func(s *share) (n int64) {
		for s.Room() >= wire.PacketMax {
			held = append(held, s.Get(wire.PacketMax))
		}
		return s.held.Load()
	}
	shares := make([]share, hoarders+1)
	for i := range shares {
		shares[i].all = &m
	}
	for i := range hoarders {
		fill(&shares[i])
	}
	if late := fill(&shares[hoarders]); late < heldAnywhere/2 {
		t.Errorf("the one that came last holds %d bytes", late)
	}
	if got := m.held.Load(); got > m.most+hoarders*heldAnywhere {
		t.Errorf("%d bytes held by all", got)
	}
	if shares[0].Room() > 0 {
		t.Error("the first may take more still: this shows nothing")
	}
	for _, b := range held {
		release(b)
	}
	if got := m.held.Load(); got != 0 || shares[0].Room() < heldAnywhere {
		t.Errorf("%d bytes held after all are given back", got)
	}
}
