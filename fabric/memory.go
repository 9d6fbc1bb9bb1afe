// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"cmp"
	"sync"
	"sync/atomic"

	"github.com/tbnet2/tbnet2/transport"
	"github.com/tbnet2/tbnet2/wire"
)

// bufferSizes are the size classes, bytes; no packet needs more than the last.
var bufferSizes = [...]int{2048, 4096, 16384, wire.PacketMax}

// heldAnywhere is what may be held of any one peer's packets that wait for
// earlier ones, whatever the others hold, bytes (docs/protocol.md 9).
const heldAnywhere = 1 << 20

// memory gives out buffers by size class. Idle ones go with the garbage
// collector; what is in use is counted.
type memory struct {
	most    int64 // what may be held of all peers' packets, bytes
	classes [len(bufferSizes)]sync.Pool
	held    atomic.Int64 // bytes in use
}

// heldMost lets one peer that is alone fill all its windows, with as much left
// for others.
func heldMost(window int) int64 {
	return 2 * wire.Channels * int64(cmp.Or(window, transport.DefaultWindow))
}

// sizeClass is the one that a size needs.
func sizeClass(size int) int {
	class := 0
	for size > bufferSizes[class] {
		class++
	}
	return class
}

// share is one peer's part of a memory. A peer may hold as much as is left for
// the others (the dynamic threshold of Choudhury and Hahne, ToN 1998): one alone
// can have half, and where k take all they can, a part of k+1 is still left.
type share struct {
	all  *memory
	held atomic.Int64 // bytes in use
}

// Get implements transport.Memory.
func (s *share) Get(size int) *transport.Buffer {
	class := sizeClass(size)
	b, ok := s.all.classes[class].Get().(*transport.Buffer)
	if !ok {
		b = &transport.Buffer{Data: make([]byte, bufferSizes[class])}
	}
	b.Home = s
	s.held.Add(int64(len(b.Data)))
	s.all.held.Add(int64(len(b.Data)))
	return b
}

// Put implements transport.Memory.
func (s *share) Put(b *transport.Buffer) {
	s.held.Add(-int64(len(b.Data)))
	s.all.held.Add(-int64(len(b.Data)))
	b.Home = nil // an idle buffer keeps no peer
	s.all.classes[sizeClass(len(b.Data))].Put(b)
}

// Room implements transport.Memory.
func (s *share) Room() int {
	return int(max(heldAnywhere, s.all.most-s.all.held.Load()) - s.held.Load())
}

// release gives a buffer back to whom it is from.
func release(b *transport.Buffer) { b.Home.(*share).Put(b) }
