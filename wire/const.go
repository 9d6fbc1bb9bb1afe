// SPDX-License-Identifier: Apache-2.0

package wire

// Numbers of tbnet2_wire.h; the docs there hold here.
const (
	EtherType   = 0x88B5
	Version     = 1
	Unit        = 64    // bytes
	PacketMax   = 65600 // bytes
	Channels    = 16
	RailsMax    = 64
	HostNameMax = 63 // bytes
	GapsMax     = 32
)

// HelloMAC is the multicast address that HELLO goes to.
var HelloMAC = [6]byte{0x03, 0x74, 0x62, 0x6e, 0x65, 0x74}

// Type is a frame type.
type Type uint8

// Frame types.
const (
	TypeHello    Type = 0
	TypeHelloAck Type = 1
	TypeConfirm  Type = 2
	TypeReset    Type = 3
	TypePing     Type = 4
	TypePong     Type = 5
	TypeAck      Type = 6
	TypeRailSet  Type = 7
	TypePosition Type = 8
	TypeSkip     Type = 9
	TypeData     Type = 10
	typeEnd      Type = 11
)

var typeNames = [typeEnd]string{"hello", "hello_ack", "confirm", "reset", "ping", "pong", "ack", "railset", "position", "skip", "data"}

// String names the type.
func (t Type) String() string {
	if t < typeEnd {
		return typeNames[t]
	}
	return "unknown"
}

// Ledgered reports whether frames of the type use up a rail sequence.
func (t Type) Ledgered() bool { return t == TypeData || t == TypePosition }

// Flags of a frame.
const (
	FlagCRC     = 1 << 0
	FlagOffload = 1 << 1
	FlagResent  = 1 << 2
	FlagAck     = 1 << 3
)

// Service says what an association carries.
type Service uint8

// Services.
const (
	ServiceEthernet Service = 1
	ServiceVerbs    Service = 2
	ServiceTest     Service = 3
)

// String names the service.
func (s Service) String() string {
	switch s {
	case ServiceEthernet:
		return "ethernet"
	case ServiceVerbs:
		return "verbs"
	case ServiceTest:
		return "test"
	}
	return "unknown"
}

// Caps are the capabilities a HELLO tells.
type Caps uint32

// Capabilities.
const (
	CapRetransmit Caps = 1 << 0
	CapCRC        Caps = 1 << 1
	CapOffload    Caps = 1 << 2
)

// Reset reasons.
const (
	ResetUnknown = 1
	ResetClosing = 2
)

// TLV types; TLVCritical is or-ed in.
const (
	TLVHost     = 1
	TLVEpoch    = 2
	TLVIndex    = 3
	TLVService  = 4
	TLVVersions = 5
	TLVRail     = 6
	TLVGroup    = 7
	TLVMTU      = 8
	TLVRate     = 9
	TLVCaps     = 10
	TLVSlots    = 11
	TLVName     = 12
	TLVMAC      = 13
	TLVCritical = 0x80
)

// Lengths in bytes.
const (
	HeaderLen     = 16
	DataLen       = 16
	OffloadLen    = 16
	StateLen      = 24
	RailAckLen    = 16
	GapLen        = 4
	ChannelAckLen = 12
	RailSetLen    = 16
	MarkLen       = 8
	HelloLen      = 16
	ResetLen      = 8
	TLVLen        = 2
)
