// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"math/bits"

	"github.com/tbnet2/tbnet2/wire"
)

// unitWords is how many 64-bit words hold a bit for each unit of a packet.
const unitWords = (wire.PacketMax/wire.Unit + 63) / 64

// assembly is a packet of which something has arrived and that is not done.
type assembly struct {
	buf        *Buffer // content; nil in the reliable class
	total      int32
	got        int32 // bytes
	have       [unitWords]uint64
	offload    wire.Offload
	hasOffload bool
}

// whole reports whether every byte is there.
func (a *assembly) whole() bool { return a.got == a.total }

// runs calls f for each run of bytes [from, to) of [off, off+n) that is not
// held yet, and marks it held. off is a multiple of the unit, and so is n
// unless it ends the packet.
func (a *assembly) runs(off, n int32, f func(from, to int32)) {
	first := off / wire.Unit
	end := (off + n + wire.Unit - 1) / wire.Unit
	for u := first; u < end; {
		if a.held(u) {
			u++
			continue
		}
		start := u
		for u < end && !a.held(u) {
			a.have[u/64] |= 1 << (u % 64)
			u++
		}
		from, to := start*wire.Unit, min(u*wire.Unit, a.total)
		a.got += to - from
		f(from, to)
	}
}

func (a *assembly) held(unit int32) bool { return a.have[unit/64]>>(unit%64)&1 != 0 }

// units counts what is held, for tests of the bookkeeping.
func (a *assembly) units() int {
	n := 0
	for _, w := range a.have {
		n += bits.OnesCount64(w)
	}
	return n
}
