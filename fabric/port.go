// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"errors"

	"github.com/tbnet2/tbnet2/transport"
)

// ErrFull is returned by Port.Send when the queue has no room for the packet:
// back pressure, not loss. WaitSend tells when to try again.
var ErrFull = errors.New("fabric: queue full")

// ErrClosed is returned after Close.
var ErrClosed = errors.New("fabric: closed")

// Port is the Ethernet face of a fabric, what an outlet (userstack, tap)
// stands on. Packets are Ethernet frames, destination address first, up to
// MaxPacket bytes, with an offload descriptor where they are larger than the
// outlet's MTU or lack a checksum. A port learns which peer has which address
// and floods what it does not know, as a bridge does. All methods are safe for
// use by several goroutines.
type Port interface {
	// Send queues p, and owns it and its Parts until p.Done was called; on
	// error the caller keeps it and Done is not called. Channel is set by the
	// port from the packet's flow. A packet nobody can take (no peer) is
	// dropped, counted, and no error.
	Send(p *transport.Packet) error
	// WaitSend blocks until Send may take a packet again, or ErrClosed.
	WaitSend() error
	// Flush sends what was queued; Send alone may leave it for the next
	// Flush, so that a batch crosses in one system call.
	Flush()
	// Handle sets the function that gets received packets. It is called by
	// one goroutine at a time, in order for each flow, and must not block
	// for long: while it runs, credit is held back from the peers. Data of a
	// Delivery without Buf is valid only until it returns; a Delivery with
	// Buf is owned by the function, which gives it back with Release.
	Handle(func([]transport.Delivery))
	// Release returns a Delivery's buffer.
	Release(*transport.Buffer)
	// MaxPacket is the largest packet in bytes, Ethernet header included. It
	// follows the rails in use; gso_max_size is set from it.
	MaxPacket() int
	// FramePacket is the largest packet in bytes that goes in one frame of
	// every rail in use; 0 while none is.
	FramePacket() int
	// Peers tells how many peers are connected; Changed fires when that or
	// MaxPacket changes (coalescing). No carrier: Peers() == 0.
	Peers() int
	Changed() <-chan struct{}
}
