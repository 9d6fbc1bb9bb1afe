// SPDX-License-Identifier: Apache-2.0

package ctl

import "time"

// EventKind says what an Event is about.
type EventKind string

// Kinds of events.
const (
	EventRail     EventKind = "rail"     // a rail changed its state
	EventPeer     EventKind = "peer"     // a peer came, went or was replaced
	EventMismatch EventKind = "mismatch" // a host was seen that cannot be talked to
	EventMissed   EventKind = "missed"   // the reader was too slow; some are missing
)

// Event is one change. Order among the events of one backend is kept.
type Event struct {
	SchemaVersion int       `json:"schema_version"`
	Time          time.Time `json:"time"`
	Kind          EventKind `json:"kind"`
	Peer          string    `json:"peer,omitempty"`
	Rail          string    `json:"rail,omitempty"`
	State         string    `json:"state,omitempty"`
	Reason        string    `json:"reason,omitempty"`
	Message       string    `json:"message"`
}
