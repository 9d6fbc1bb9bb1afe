// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"fmt"

	"github.com/tbnet2/tbnet2/wire"
)

// Inbox carries what a batch of received frames brought: deliveries for the
// consumer, events, and what the receive half has for the send half. It is
// reused: one Inbox goes through Receive (any number of times), then Apply,
// then Reset. States lie in the frames passed to Receive until then.
type Inbox struct {
	Deliveries []Delivery
	Events     []Event

	states []stateFrame
	pings  []ping
	owed   owed
}

// stateFrame is a PING, PONG or ACK on its way to the send half.
type stateFrame struct {
	rail RailID
	kind wire.Type
	body []byte
}

// ping is a PING to be answered.
type ping struct {
	rail  RailID
	stamp uint32
}

// owed is what the receive half wants sent.
type owed struct {
	heard RailSet // peer's frames have come on these lately
	ack   bool    // body is due as an ACK
	body  []byte  // encoded state, or empty
}

// Reset empties the inbox. Deliveries with a Buf must have been taken.
func (in *Inbox) Reset() {
	clear(in.Deliveries)
	clear(in.states)
	in.Deliveries, in.Events = in.Deliveries[:0], in.Events[:0]
	in.states, in.pings = in.states[:0], in.pings[:0]
	in.owed = owed{body: in.owed.body[:0]}
}

// RailState is where a rail stands (docs/protocol.md 8).
type RailState uint8

// Rail states.
const (
	RailDown RailState = iota
	RailProbing
	RailUp
	RailSuspect
)

// String names the state.
func (s RailState) String() string { return [...]string{"down", "probing", "up", "suspect"}[s] }

// Reason is why a rail is not up.
type Reason uint8

// Reasons.
const (
	ReasonNone       Reason = iota
	ReasonNew               // has never been up
	ReasonNoCarrier         // the device has no carrier
	ReasonSilent            // nothing is heard from the peer
	ReasonUnheard           // the peer does not hear us
	ReasonUnanswered        // frames are not acknowledged
	ReasonDisabled          // taken out of use here
)

// String names the reason.
func (r Reason) String() string {
	return [...]string{"", "new", "no_carrier", "silent", "unheard_by_peer", "unacknowledged", "disabled"}[r]
}

// EventKind says what an Event is about.
type EventKind uint8

// Event kinds.
const (
	EventRail EventKind = iota // a rail changed its state
	EventMTU                   // what a rail is proven to pass changed
	EventDead                  // the association has ended
)

// Event is a change worth telling.
type Event struct {
	Kind   EventKind
	Rail   RailID
	State  RailState
	Reason Reason
	MTU    int
}

// String gives the event as one phrase.
func (e Event) String() string {
	switch e.Kind {
	case EventDead:
		return "association dead"
	case EventMTU:
		return fmt.Sprintf("rail %d mtu %d", e.Rail, e.MTU)
	}
	if e.Reason == ReasonNone {
		return fmt.Sprintf("rail %d %v", e.Rail, e.State)
	}
	return fmt.Sprintf("rail %d %v (%v)", e.Rail, e.State, e.Reason)
}
