// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"github.com/tbnet2/tbnet2/transport"
	"github.com/tbnet2/tbnet2/wire"
)

// What may be in the port's hands at once. Frames of up to smallLen bytes,
// acknowledgements above all, have memory of their own, so that a packet of 64
// bytes does not occupy 64 KiB until its acknowledgement comes.
const (
	bigLen     = vnetLen + wire.PacketMax
	bigSlots   = 256 // 16 MiB, above the transport's queue and a round trip in flight
	smallLen   = 2048
	smallSlots = 4096 // 8 MiB
)

// slot is memory for one frame with the packet that refers to it. It belongs
// to the sender from get until the port took it, and again from Done.
type slot struct {
	buf    []byte // vnet header, frame
	packet transport.Packet
	parts  [1][]byte
}

// slots is a bounded set of slots of one size, made as they are needed. get is
// for one goroutine; slots come back from any.
type slots struct {
	free chan *slot
	size int
	left int // may still be made
}

func newSlots(n, size int) *slots {
	return &slots{free: make(chan *slot, n), size: size, left: n}
}

// tryGet gives a slot, or nil if all are in use.
func (s *slots) tryGet() *slot {
	select {
	case sl := <-s.free:
		return sl
	default:
	}
	if s.left == 0 {
		return nil
	}
	s.left--
	return s.make()
}

// get waits for a slot; nil after closed is.
func (s *slots) get(closed <-chan struct{}) *slot {
	select {
	case sl := <-s.free:
		return sl
	case <-closed:
		return nil
	}
}

func (s *slots) put(sl *slot) { s.free <- sl }

func (s *slots) make() *slot {
	sl := &slot{buf: make([]byte, s.size)}
	sl.packet.Done = func(*transport.Packet, transport.Outcome) { s.put(sl) }
	return sl
}

// load makes the packet the frame that is in the first n bytes of buf.
func (sl *slot) load(n int) *transport.Packet {
	p := &sl.packet
	sl.parts[0] = sl.buf[vnetLen:n]
	p.Parts = sl.parts[:]
	p.HasOffload = parseVnet(sl.buf, &p.Offload)
	return p
}
