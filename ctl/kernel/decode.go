// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"time"

	"github.com/google/uuid"
	"github.com/mdlayher/netlink"

	"github.com/tbnet2/tbnet2/ctl"
)

// decoder stands at an attribute.
type decoder = netlink.AttributeDecoder

// States and kinds in the order of the header's enums.
var (
	peerStates = []ctl.PeerState{ctl.PeerConnected, ctl.PeerLost, ctl.PeerMismatch}
	railStates = []ctl.RailState{ctl.RailUnpaired, ctl.RailProbing, ctl.RailUp, ctl.RailSuspect, ctl.RailDown}
	eventKinds = []ctl.EventKind{ctl.EventRail, ctl.EventPeer, ctl.EventMismatch}
)

// name gives the n-th of names, or the first: a module to come may have more.
func name[T any](names []T, n uint8) T {
	if int(n) < len(names) {
		return names[n]
	}
	return names[0]
}

// bond, peer and rail are what the module tells, with the indexes that it names
// devices by.
type (
	bond struct {
		ifindex    uint32
		retransmit bool
	}
	peer struct {
		ctl.Peer
		id   uuid.UUID
		bond uint32
	}
	rail struct {
		ctl.Rail
		ifindex, bond uint32
		peer          uuid.UUID
		paired        bool
	}
)

func decodeHost(d *decoder, h *ctl.Host) {
	switch d.Type() {
	case HostUUID:
		h.UUID = decodeUUID(d).String()
	case HostName:
		h.Name = d.String()
	case HostVersion:
		h.Version = d.String()
	case HostStarted:
		h.Started = decodeTime(d)
	}
}

func decodeUUID(d *decoder) (id uuid.UUID) {
	copy(id[:], d.Bytes())
	return id
}

// decodeTime reads nanoseconds since 1970; 0 is no time.
func decodeTime(d *decoder) time.Time {
	ns := d.Uint64()
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, int64(ns)).UTC()
}

func decodeBond(d *decoder, b *bond) {
	switch d.Type() {
	case BondIfindex:
		b.ifindex = d.Uint32()
	case BondRetransmit:
		b.retransmit = d.Uint8() != 0
	}
}

func decodePeer(d *decoder, p *peer) {
	if at := peerCounter(&p.Flow, d.Type()); at != nil {
		*at = d.Uint64()
		return
	}
	switch d.Type() {
	case PeerUUID:
		p.id = decodeUUID(d)
		p.UUID = p.id.String()
	case PeerName:
		p.Name = d.String()
	case PeerBond:
		p.bond = d.Uint32()
	case PeerState:
		p.State = name(peerStates, d.Uint8())
	case PeerReason:
		p.Reason = d.String()
	case PeerRetransmit:
		p.Retransmit = d.Uint8() != 0
	case PeerRTT:
		p.RTTNS = int64(d.Uint64())
	}
}

// peerCounter finds the counter of an attribute.
func peerCounter(c *ctl.FlowCounters, attr uint16) *uint64 {
	switch attr {
	case PeerTxPackets:
		return &c.TxPackets
	case PeerTxBytes:
		return &c.TxBytes
	case PeerTxResentBytes:
		return &c.TxResentBytes
	case PeerRxPackets:
		return &c.RxPackets
	case PeerRxBytes:
		return &c.RxBytes
	case PeerRxReordered:
		return &c.RxReordered
	case PeerRxParkedBytes:
		return &c.RxParkedBytes
	case PeerTxQueuedBytes:
		return &c.TxQueuedBytes
	}
	return nil
}

func decodeRail(d *decoder, r *rail) {
	if at := railCounter(&r.Counters, d.Type()); at != nil {
		*at = d.Uint64()
		return
	}
	switch d.Type() {
	case RailIfindex:
		r.ifindex = d.Uint32()
	case RailBond:
		r.bond = d.Uint32()
	case RailPeer:
		r.peer, r.paired = decodeUUID(d), true
	case RailState:
		r.State = name(railStates, d.Uint8())
	case RailReason:
		r.Reason = d.String()
	case RailEnabled:
		r.Enabled = d.Uint8() != 0
	case RailInUse:
		r.InUse = d.Uint8() != 0
	case RailSimulated:
		r.Simulated = d.Uint8() != 0
	case RailWeight:
		r.Weight = int(d.Uint32())
	case RailPeerMTU:
		r.PeerMTU = int(d.Uint32())
	case RailLinkBPS:
		r.LinkBPS = d.Uint64()
	case RailBPS:
		r.RateBPS = d.Uint64()
	case RailDelay:
		r.DelayNS = int64(d.Uint64())
	case RailRTT:
		r.RTTNS = int64(d.Uint64())
	case RailSince:
		r.Since = decodeTime(d)
	}
}

// railCounter finds the counter of an attribute.
func railCounter(c *ctl.RailCounters, attr uint16) *uint64 {
	counters := [...]*uint64{&c.TxFrames, &c.TxBytes, &c.TxErrors, &c.TxStall, &c.TxLost, &c.CreditWait,
		&c.RxFrames, &c.RxBytes, &c.RxErrors, &c.RxNoBuffer, &c.RxLost, &c.RxReordered, &c.Flaps, &c.Suspicions}
	if i := int(attr) - int(RailTxFrames); i >= 0 && i < len(counters) {
		return counters[i]
	}
	return nil
}

func decodeDrop(d *decoder, out *ctl.Drop) {
	switch d.Type() {
	case DropReason:
		out.Reason = d.String()
	case DropCount:
		out.Count = d.Uint64()
	}
}

// event is a notification; what State means goes by the kind.
type event struct {
	ctl.Event
	state uint8
}

func decodeEvent(d *decoder, e *event) {
	switch d.Type() {
	case EventTime:
		e.Time = decodeTime(d)
	case EventKind:
		e.Kind = name(eventKinds, d.Uint8())
	case EventPeer:
		e.Peer = d.String()
	case EventRail:
		e.Rail = d.String()
	case EventState:
		e.state = d.Uint8()
	case EventReason:
		e.Reason = d.String()
	}
}
