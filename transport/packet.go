// SPDX-License-Identifier: Apache-2.0

package transport

import "github.com/tbnet2/tbnet2/wire"

// Packet is one unit that the transport carries whole: for the Ethernet
// service a frame, up to 64 KiB with an offload descriptor. The caller fills
// the exported fields and keeps them unchanged from Send until Done.
type Packet struct {
	// Parts are the content, in order; together at most wire.PacketMax bytes.
	Parts [][]byte
	// Channel is below wire.Channels; packets of one flow share a channel.
	Channel uint8
	// Offload goes with the packet if HasOffload; else it is not looked at.
	Offload    wire.Offload
	HasOffload bool
	// Done, if set, is called once, from within a method of the Sender, when
	// the transport no longer needs the packet. It must not call the Sender.
	Done func(*Packet, Outcome)

	sending // the sender's own state
}

// Outcome tells what became of a packet.
type Outcome uint8

// Outcomes.
const (
	Acknowledged Outcome = iota // every byte arrived
	Sent                        // every byte was sent once; nothing more is promised without retransmission
	GivenUp                     // too old; the receiver was told to skip it
	Aborted                     // the association ended
)

// String names the outcome.
func (o Outcome) String() string {
	return [...]string{"acknowledged", "sent", "given_up", "aborted"}[o]
}

// Buffer is memory for received bytes, from a Memory.
type Buffer struct {
	Data []byte // full capacity
	Home any    // for the Memory that made it
}

// Memory gives out buffers. The Receiver bounds what it holds of one peer; a
// Memory may bound what is held of all. Get never fails.
type Memory interface {
	Get(size int) *Buffer
	Put(*Buffer)
	// Room is how many bytes more may be held of packets that wait for earlier
	// ones. What is next in turn is held without asking, so that a hole can
	// always be closed.
	Room() int
}

// Delivery is received content for the consumer.
type Delivery struct {
	Channel uint8
	Packet  Seq
	// Offset of Data in the packet and the packet's length; with ordered
	// delivery Data is the whole packet.
	Offset, Total int
	Data          []byte
	Offload       wire.Offload
	HasOffload    bool
	// Buf owns Data if it is not nil: the consumer returns it to the Memory.
	// If nil, Data lies in the frame passed to Receive and is valid only as
	// long as that is.
	Buf *Buffer
}

// Frame is one frame to be sent: Head, then Len bytes of Packet from Off.
type Frame struct {
	Head   []byte
	Packet *Packet // nil for control frames
	Off    int
	Len    int
}

// Size is the frame's length in bytes.
func (f *Frame) Size() int { return len(f.Head) + f.Len }

// Body appends the frame's slices of packet content to parts.
func (f *Frame) Body(parts [][]byte) [][]byte {
	if f.Packet == nil {
		return parts
	}
	skip, left := f.Off, f.Len
	for _, part := range f.Packet.Parts {
		if left == 0 {
			break
		}
		if skip >= len(part) {
			skip -= len(part)
			continue
		}
		n := min(len(part)-skip, left)
		parts = append(parts, part[skip:skip+n])
		skip, left = 0, left-n
	}
	return parts
}
