// SPDX-License-Identifier: Apache-2.0

package ctl

import "context"

// Backend is a program that carries traffic, as seen from outside: the daemon
// or the kernel. All methods are safe for use by several goroutines; a change
// is made whole or not at all. Errors carry a Code (see Error).
type Backend interface {
	Status(ctx context.Context) (*Status, error)
	Stats(ctx context.Context) (*Stats, error)
	// SetRails makes set the rails in use towards its target and returns what
	// is in use afterwards.
	SetRails(ctx context.Context, set RailSet) (*RailsInUse, error)
	// SetRailUp takes a rail up or down by hand; down ends its traffic without
	// loss where retransmission is in force.
	SetRailUp(ctx context.Context, rail string, up bool) error
	// SetBond changes an outlet.
	SetBond(ctx context.Context, change BondChange) error
	// Events calls each for the latest changes, as far as the backend has kept
	// them, and with follow for every further one until ctx ends. It returns
	// each's error, or nil where ctx ended it.
	Events(ctx context.Context, follow bool, each func(Event) error) error
}

// BondChange is what can be changed of a bond while it runs. Zero fields stay.
type BondChange struct {
	Name      string   `json:"name"`
	MTU       int      `json:"mtu,omitempty"`
	Addresses []string `json:"addresses,omitempty"` // CIDR, added to those there are
}

// Reloader is a Backend with a configuration file that it can read again.
type Reloader interface {
	// Reload takes over what changed in the file, whole or not at all.
	Reload(ctx context.Context) error
}

// Bencher is a Backend that can measure the way to a peer. Its peer must run
// the same bench service.
type Bencher interface {
	// Bench calls progress (if not nil) about once a second, one call at a
	// time, and returns when all runs are done.
	Bench(ctx context.Context, r BenchRequest, progress func(BenchProgress)) (*BenchResult, error)
}

// Bounds of a BenchRequest.
const (
	BenchSecondsMax = 60
	BenchFlowsMax   = 64
)

// BenchRequest says what to measure: for every entry of Flows one run in each
// direction.
type BenchRequest struct {
	Peer    string `json:"peer"`
	Seconds int    `json:"seconds"` // of one run, 1 to 60
	Flows   []int  `json:"flows"`   // TCP connections at once, each 1 to 64
}

// Directions of a bench run, seen from the host that asked for it.
const (
	Sending   = "send"
	Receiving = "receive"
)

// BenchProgress tells of a run under way.
type BenchProgress struct {
	Direction string  `json:"direction"`
	Flows     int     `json:"flows"`
	Seconds   float64 `json:"seconds"` // since the run began
	BPS       uint64  `json:"bps"`     // so far, bits of payload per second
}

// BenchRun is a finished run.
type BenchRun struct {
	Direction string  `json:"direction"`
	Flows     int     `json:"flows"`
	Bytes     uint64  `json:"bytes"`
	Seconds   float64 `json:"seconds"`
	BPS       uint64  `json:"bps"`
}

// BenchResult is all runs, in the order they were made.
type BenchResult struct {
	SchemaVersion int        `json:"schema_version"`
	Peer          string     `json:"peer"`
	Simulated     bool       `json:"simulated"`
	Outlet        string     `json:"outlet"`   // kind of the bond it ran over
	WireBPS       uint64     `json:"wire_bps"` // sum of the rails' link rates, 0 where one is unknown
	Runs          []BenchRun `json:"runs"`
}

// RatioLimit is how many times faster one direction may be before it is a
// fault worth a warning (users report cables that are ten times slower one way).
const RatioLimit = 1.3

// Ratio gives the faster direction over the slower one with that many flows,
// and 0 where not both were measured.
func (r *BenchResult) Ratio(flows int) float64 {
	var send, receive float64
	for _, run := range r.Runs {
		switch {
		case run.Flows != flows:
		case run.Direction == Sending:
			send = float64(run.BPS)
		case run.Direction == Receiving:
			receive = float64(run.BPS)
		}
	}
	if send == 0 || receive == 0 {
		return 0
	}
	return max(send/receive, receive/send)
}
