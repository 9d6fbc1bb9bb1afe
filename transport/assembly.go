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
	pieces     bool  // have is in use
	have       [unitWords]uint64
	offload    wire.Offload
	hasOffload bool
}

// whole reports whether every byte is there.
func (a *assembly) whole() bool { return a.got == a.total }

// fill copies what is new in a fragment to its place, and reports whether
// there was anything.
func (a *assembly) fill(f *fragment) (fresh bool) {
	if a.got == 0 && f.isWhole() {
		copy(a.buf.Data, f.payload)
		a.got = a.total // nobody will ask which units
		return true
	}
	a.runs(f.off, int32(len(f.payload)), func(from, to int32) {
		copy(a.buf.Data[from:to], f.payload[from-f.off:])
		fresh = true
	})
	return fresh
}

// reset empties the assembly for its next packet.
func (a *assembly) reset() {
	if a.pieces {
		a.have = [unitWords]uint64{}
	}
	a.buf, a.total, a.got, a.pieces, a.hasOffload = nil, 0, 0, false, false
}

// runs calls f for each run of bytes [from, to) of [off, off+n) that is not
// held yet, and marks it held. off is a multiple of the unit, and so is n
// unless it ends the packet.
func (a *assembly) runs(off, n int32, f func(from, to int32)) {
	a.pieces = true
	first := off / wire.Unit
	end := (off + n + wire.Unit - 1) / wire.Unit
	for u := first; u < end; {
		start := u + a.same(u, end, 0)
		if start == end {
			break
		}
		u = start + a.same(start, end, ^uint64(0))
		a.mark(start, u)
		from, to := start*wire.Unit, min(u*wire.Unit, a.total)
		a.got += to - from
		f(from, to)
	}
}

// same counts the units from u on, before end, that are held, or with flip of
// all ones those that are not, a word at a time.
func (a *assembly) same(u, end int32, flip uint64) (n int32) {
	for u+n < end {
		at := u + n
		left := 64 - at%64
		run := min(int32(bits.TrailingZeros64(^((a.have[at/64] ^ flip) >> (at % 64)))), left)
		n += run
		if run < left {
			break
		}
	}
	return min(n, end-u)
}

// mark holds the units [u, end).
func (a *assembly) mark(u, end int32) {
	for u < end {
		n := min(64-u%64, end-u)
		a.have[u/64] |= ^uint64(0) >> (64 - n) << (u % 64)
		u += n
	}
}
