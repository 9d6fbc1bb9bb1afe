// SPDX-License-Identifier: Apache-2.0

package kernel

// Family is the generic netlink family's name, EventsGroup its multicast group.
const (
	Family      = "tbnet2"
	EventsGroup = "events"
	version     = 1
)

// Commands: enum tbnet2_cmd. A test compares all numbers here with the header.
const (
	CmdGetHost uint8 = iota + 1
	CmdGetBond
	CmdGetPeer
	CmdGetRail
	CmdGetDrop
	CmdSetRails
	CmdSetRail
	CmdSetBond
	CmdEvent
)

// Attributes of a message: enum tbnet2_attr.
const (
	AttrHost uint16 = iota + 1
	AttrBond
	AttrPeer
	AttrRail
	AttrDrop
	AttrUse
	AttrEvent
	AttrPad
)

// Host: enum tbnet2_host_attr.
const (
	HostPad uint16 = iota + 1
	HostUUID
	HostName
	HostVersion
	HostStarted
)

// Bond: enum tbnet2_bond_attr.
const (
	BondPad uint16 = iota + 1
	BondIfindex
	BondRetransmit
	BondWindow
	BondQueue
)

// Peer: enum tbnet2_peer_attr.
const (
	PeerPad uint16 = iota + 1
	PeerUUID
	PeerName
	PeerBond
	PeerState
	PeerReason
	PeerRetransmit
	PeerRTT
	PeerTxPackets
	PeerTxBytes
	PeerTxResentBytes
	PeerRxPackets
	PeerRxBytes
	PeerRxReordered
	PeerRxParkedBytes
	PeerTxQueuedBytes
)

// Rail: enum tbnet2_rail_attr.
const (
	RailPad uint16 = iota + 1
	RailIfindex
	RailBond
	RailPeer
	RailState
	RailReason
	RailEnabled
	RailInUse
	RailSimulated
	RailWeight
	RailPeerMTU
	RailLinkBPS
	RailBPS
	RailDelay
	RailRTT
	RailSince
	RailTxFrames
	RailTxBytes
	RailTxErrors
	RailTxStall
	RailTxLost
	RailCreditWait
	RailRxFrames
	RailRxBytes
	RailRxErrors
	RailRxNoBuffer
	RailRxLost
	RailRxReordered
	RailFlaps
	RailSuspicions
)

// Drop: enum tbnet2_drop_attr.
const (
	DropPad uint16 = iota + 1
	DropReason
	DropCount
)

// Use: enum tbnet2_use_attr and tbnet2_use_rail_attr.
const (
	UsePeer uint16 = iota + 1
	UseRail
)

const (
	UseRailIfindex uint16 = iota + 1
	UseRailWeight
)

// Event: enum tbnet2_event_attr.
const (
	EventPad uint16 = iota + 1
	EventTime
	EventKind
	EventPeer
	EventRail
	EventState
	EventReason
)
