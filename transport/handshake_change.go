// SPDX-License-Identifier: Apache-2.0

package transport

// ChangeKind says what a HandshakeChange is about.
type ChangeKind uint8

// Change kinds.
const (
	ChangePeerMade ChangeKind = iota // an association is agreed; its rails follow
	ChangePeerGone                   // the association and all its rails have ended
	ChangeRailMade                   // a rail is agreed
	ChangeRailInfo                   // what both ends say of a rail has changed
	ChangeRailGone                   // a rail has ended
	ChangeNotice                     // something a user must know
)

var changeNames = [...]string{"peer made", "peer gone", "rail made", "rail info", "rail gone", "notice"}

// String names the kind.
func (k ChangeKind) String() string { return changeNames[k] }

// GoneReason is why an association has ended.
type GoneReason uint8

// Reasons.
const (
	GoneReplaced  GoneReason = iota // the peer has begun anew
	GoneReset                       // the peer does not know the association
	GoneClosed                      // the peer has closed it
	GoneForgotten                   // it was ended here
)

// String names the reason as counters do.
func (r GoneReason) String() string {
	return [...]string{"restarted", "reset", "closed_by_peer", "closed_here"}[r]
}

// HandshakeChange is a step that the caller follows.
type HandshakeChange struct {
	Kind        ChangeKind
	Peer        PeerID
	Association AssociationInfo // ChangePeerMade
	Rail        RailInfo        // ChangeRail...
	Reason      GoneReason      // ChangePeerGone
	Notice      Notice          // ChangeNotice
}

// AssociationInfo is what two ends have agreed on.
type AssociationInfo struct {
	Name                  string // of the peer's host
	Epoch                 uint64 // the peer's
	LocalIndex, PeerIndex uint32 // that frames to us, and to the peer, carry
	Slots                 int    // the peer's
	Retransmit            bool   // in force: both ask for it
	Offload               bool   // the peer takes offload descriptors
}

// RailInfo is what two ends have agreed on for a rail.
type RailInfo struct {
	ID, PeerID     RailID // ours, and the peer's for the same rail
	Device         DeviceID
	MAC            [6]byte // of the peer's device
	MTU            int     // the smaller of both ends
	PeerMTU        int     // the peer's
	Rate, PeerRate uint64  // bits per second, 0 unknown: the smaller; the peer's
	Group          uint64
	NoCRC          bool // the peer asks for none in frames to it
}

// change adds a step to the output.
func (h *Handshake) change(c HandshakeChange) { h.out.Changes = append(h.out.Changes, c) }

// HandshakeDrop is why a frame had no effect.
type HandshakeDrop uint8

// Reasons. Every frame given to Receive that is not taken counts under one.
const (
	HandshakeMalformed HandshakeDrop = iota // not a frame of the handshake, or its fields cannot be
	HandshakeVersion
	HandshakeCRC
	HandshakeOwn        // our own, come back
	HandshakeMismatch   // of a host that serves nothing we do, or that has our UUID
	HandshakeStale      // its echo is none of our last nonces, or that nonce was used
	HandshakeOldEpoch   // of an epoch that has ended
	HandshakeWrongRole  // an answer that the peer is not to give
	HandshakeWrongIndex // for an index that we do not have
	HandshakeNotChosen  // of a pair of devices that is no rail
	HandshakeFull       // a table is full
	HandshakeRate       // too many to answer
	HandshakeNoDevice   // on a device that has been removed
	handshakeDropEnd
)

var handshakeDropNames = [handshakeDropEnd]string{"malformed", "version", "crc", "own", "mismatch", "stale",
	"old_epoch", "wrong_role", "wrong_index", "not_chosen", "full", "rate", "no_device"}

// String names the reason as counters do.
func (d HandshakeDrop) String() string { return handshakeDropNames[d] }

// HandshakeDrops counts frames by reason.
type HandshakeDrops [handshakeDropEnd]uint64

// Each calls f for every reason.
func (d *HandshakeDrops) Each(f func(name string, n uint64)) {
	for reason, n := range d {
		f(HandshakeDrop(reason).String(), n)
	}
}

// Drops gives the totals.
func (h *Handshake) Drops() HandshakeDrops { return h.drops }

// HandshakeStats are a Handshake's totals: Frames are Taken and all Drops.
type HandshakeStats struct {
	Frames     uint64 // all that Receive was given
	Taken      uint64 // those that count under no drop
	ResetsHeld uint64 // RESETs not sent for their rate
	NotesFull  uint64 // notices not kept for want of room
}

// Stats gives the totals.
func (h *Handshake) Stats() HandshakeStats { return h.stats }
