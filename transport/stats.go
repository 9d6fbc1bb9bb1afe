// SPDX-License-Identifier: Apache-2.0

package transport

// Drop is why received bytes were not delivered.
type Drop uint8

// Reasons. Every received frame that is not taken counts under exactly one.
const (
	DropShort         Drop = iota // does not fit its length
	DropVersion                   // of another version
	DropType                      // type or flag unknown, reserved bits set
	DropCRC                       // checksum wrong
	DropNoCRC                     // checksum missing
	DropRailSeq                   // rail sequence far outside
	DropField                     // a field out of range
	DropContradiction             // differs from what is held of the packet
	DropWindow                    // beyond the window
	DropOffload                   // descriptor does not fit
	DropDuplicate                 // nothing new in it
	DropLate                      // of a packet delivered or given up before
	DropMemory                    // ahead of its turn, and no memory to hold it; told as lost
	dropEnd
)

var dropNames = [dropEnd]string{"short", "version", "type", "crc", "no_crc", "rail_seq", "field",
	"contradiction", "window", "bad_offload", "duplicate", "late", "memory"}

// String names the reason as counters do.
func (d Drop) String() string { return dropNames[d] }

// Drops counts frames by reason.
type Drops [dropEnd]uint64

// Each calls f for every reason.
func (d *Drops) Each(f func(name string, n uint64)) {
	for reason, n := range d {
		f(Drop(reason).String(), n)
	}
}

// SendStats are a Sender's totals.
type SendStats struct {
	Packets, Bytes                       uint64    // taken by Send
	Outcomes                             [4]uint64 // packets done with, by Outcome
	QueueFull                            uint64    // Send refused
	Frames, ResentFrames, ResentBytes    uint64    // cut into bursts, less what devices refused
	ControlFrames, Refused               uint64
	Lost                                 uint64 // frames known lost
	Suspected                            uint64 // frames moved from a suspect, down or removed rail
	Acks, StaleAcks, BadStates           uint64 // states received
	RailBlocked, CreditWait, ChannelWait uint64 // times nothing could be sent for want of this
	SkipsSent, PositionsSent, Probes     uint64
	QueuedBytes, InFlightBytes, InFlight uint64 // now: bytes, bytes, frames
	ResendBytes                          uint64 // now
}

// ReceiveStats are a Receiver's totals.
type ReceiveStats struct {
	Frames, Bytes                uint64 // all that Receive was given
	Taken                        uint64 // frames that count under no Drop
	DataFrames                   uint64
	Packets, PacketBytes         uint64 // delivered
	Drops                        Drops
	Gaps, LostFrames             uint64 // seen by rail sequence
	RailReordered                uint64
	OutOfOrder                   uint64 // packets that waited for an earlier one
	Skipped, ProvenLost          uint64 // packets skipped by the sender, by RFC 1990's rule
	HoleTimeouts                 uint64
	AcksSent                     uint64
	ParkedBytes, ParkedBytesMost uint64 // now, and at most
	ParkedPackets                uint64 // now
}

// Add adds what o counted: frames, drops and packets.
func (s *ReceiveStats) Add(o *ReceiveStats) {
	s.Frames += o.Frames
	s.Bytes += o.Bytes
	s.Taken += o.Taken
	s.DataFrames += o.DataFrames
	s.Packets += o.Packets
	s.PacketBytes += o.PacketBytes
	for why, n := range o.Drops {
		s.Drops[why] += n
	}
}

// Dropped is the sum of all drops.
func (s *ReceiveStats) Dropped() (sum uint64) {
	for _, n := range s.Drops {
		sum += n
	}
	return sum
}

// RailStats tells of one rail of an association.
type RailStats struct {
	State         RailState
	Reason        Reason
	MTU           int  // bytes proven to pass
	Rate          Rate // measured
	RTT, LeastRTT Time // smoothed; least seen lately
	Delay         Time // one way, more than the bundle's quickest
	Window        int  // bytes that may be in flight
	InFlight      int  // bytes
	TxFrames      uint64
	TxBytes       uint64 // headers included
	RxFrames      uint64
	RxBytes       uint64
	Lost          uint64 // of ours, told by the peer
	RxLost        uint64 // of the peer's, by rail sequence
	RxReordered   uint64
	Flaps         uint64 // times it left up
	Suspicions    uint64
	CreditWait    uint64
	Weight        int
	InUse         bool // chosen by SetUse
}
