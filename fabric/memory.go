// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"sync"

	"github.com/tbnet2/tbnet2/transport"
	"github.com/tbnet2/tbnet2/wire"
)

// bufferSizes are the size classes, bytes.
var bufferSizes = [...]int{2048, 4096, 16384, wire.PacketMax}

// memory gives out buffers by size class. Idle ones go with the garbage
// collector; what is in use is bounded by the windows.
type memory struct {
	classes [len(bufferSizes)]sync.Pool
}

// Get implements transport.Memory.
func (m *memory) Get(size int) *transport.Buffer {
	for i, n := range bufferSizes {
		if size > n {
			continue
		}
		if b, ok := m.classes[i].Get().(*transport.Buffer); ok {
			return b
		}
		return &transport.Buffer{Data: make([]byte, n), Home: i}
	}
	return &transport.Buffer{Data: make([]byte, size), Home: -1}
}

// Put implements transport.Memory.
func (m *memory) Put(b *transport.Buffer) {
	if i, ok := b.Home.(int); ok && i >= 0 {
		m.classes[i].Put(b)
	}
}
