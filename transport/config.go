// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"errors"

	"github.com/tbnet2/tbnet2/wire"
)

// Class is what an association promises (docs/protocol.md 4).
type Class uint8

// Delivery classes.
const (
	// Ordered delivers the packets of a channel whole and in order, and may
	// give one up.
	Ordered Class = iota
	// Reliable delivers every byte once, in any order.
	Reliable
)

// Policy chooses the rail of a fragment. All but Shortest exist to be
// compared with it.
type Policy uint8

// Policies.
const (
	Shortest   Policy = iota // shortest expected delivery
	RoundRobin               // the next rail with room
	FlowHash                 // channel modulo rails
)

// Config is fixed for the life of an Association.
type Config struct {
	Class      Class
	Retransmit bool // in force: both ends asked for it; Reliable implies it
	SendCRC    bool // the peer asked for CRCs
	RequireCRC bool // frames without one are dropped
	// Unordered delivers packets as they become whole, without resequencing;
	// only to show what that costs.
	Unordered bool
	// ManualConsume: the consumer calls Consumed; else delivery consumes.
	ManualConsume bool

	LocalIndex, PeerIndex uint32 // what frames to us, and to the peer, carry

	Slots      int // packets the peer lets open per channel, a power of two; 0: DefaultSlots
	LocalSlots int // the same for what we receive; 0: DefaultSlots
	Window     int // bytes of reorder memory per channel; 0: DefaultWindow
	QueueBytes int // bytes of packets waiting to be sent; 0: DefaultQueueBytes

	Memory Memory // required
	Policy Policy
}

// Defaults of Config.
const (
	DefaultSlots      = 1024
	DefaultWindow     = 8 << 20
	DefaultQueueBytes = 4 << 20
)

func (c Config) withDefaults() Config {
	c.Retransmit = c.Retransmit || c.Class == Reliable
	c.ManualConsume = c.ManualConsume && c.Class == Ordered
	c.Slots = orDefault(c.Slots, DefaultSlots)
	c.LocalSlots = orDefault(c.LocalSlots, DefaultSlots)
	c.Window = orDefault(c.Window, DefaultWindow)
	c.QueueBytes = orDefault(c.QueueBytes, DefaultQueueBytes)
	return c
}

func orDefault(v, d int) int {
	if v > 0 {
		return v
	}
	return d
}

// RailConfig describes a rail to an Association.
type RailConfig struct {
	ID     RailID // ours
	PeerID RailID // the peer's for the same rail
	MTU    int    // bytes of one frame after the Ethernet header: the smaller of both ends
	Rate   Rate   // first guess; 0 unknown
	Group  uint64 // rails of one group share rate and fate
	Weight int    // 0: by measured rate
	Ring   int    // our receive ring's share for this association, bytes
	NoCRC  bool   // the peer trusts the link: our frames carry no CRC
	// TrustLink takes frames without a CRC though RequireCRC is set: the link
	// has its own.
	TrustLink bool
}

// Errors of the calls that configure.
var (
	ErrRailID    = errors.New("transport: rail id is out of range or in use")
	ErrRailMTU   = errors.New("transport: rail MTU is below 576 or above 65535 bytes")
	ErrNoRail    = errors.New("transport: no such rail")
	ErrQueueFull = errors.New("transport: queue is full")
	ErrPacket    = errors.New("transport: packet is empty, too long, on no channel or its offload does not fit")
	ErrClosed    = errors.New("transport: association is closed")
)

// mtuMin holds every control frame but padded PINGs; RFC 791's least.
const mtuMin = 576

func (c RailConfig) check() error {
	if int(c.ID) >= wire.RailsMax || int(c.PeerID) >= wire.RailsMax {
		return ErrRailID
	}
	if c.MTU < mtuMin || c.MTU > 65535 {
		return ErrRailMTU
	}
	return nil
}
