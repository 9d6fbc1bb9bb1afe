// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"log/slog"
	"sync/atomic"
	"time"
)

// Options bound a service. The zero value has the defaults.
type Options struct {
	// MaxConns is how many connections and UDP sessions may be open at once;
	// further ones are closed at once. 0: DefaultMaxConns.
	MaxConns int
	// Idle ends a connection on which nothing has moved for so long; 0: never,
	// as a login may rest for days.
	Idle time.Duration
	// UDPIdle does so for UDP sessions, which have no other end. 0: DefaultUDPIdle.
	UDPIdle time.Duration
	// DialTimeout bounds the opening of a connection. 0: DefaultDialTimeout.
	DialTimeout time.Duration
	// Names finds peers; without it names are left to the Dialer.
	Names Names
	// Log may be nil.
	Log *slog.Logger
}

// Defaults of Options.
const (
	DefaultMaxConns    = 1024
	DefaultUDPIdle     = 60 * time.Second
	DefaultDialTimeout = 10 * time.Second
)

func (o Options) withDefaults() Options {
	if o.MaxConns <= 0 {
		o.MaxConns = DefaultMaxConns
	}
	if o.UDPIdle <= 0 {
		o.UDPIdle = DefaultUDPIdle
	}
	if o.DialTimeout <= 0 {
		o.DialTimeout = DefaultDialTimeout
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Stats are totals of a service, but for Active. Out is from who connected
// towards the target, In the way back; bytes are payload.
type Stats struct {
	Accepted     uint64 // connections taken
	Active       int64  // connections and UDP sessions open now
	Limited      uint64 // connections closed, datagrams dropped, at MaxConns
	Refused      uint64 // SOCKS requests that failed before a target was dialled
	DialErrors   uint64
	AcceptErrors uint64
	IdleClosed   uint64 // ended by Idle or UDPIdle
	Broken       uint64 // connections that broke off instead of ending

	BytesOut, BytesIn         uint64
	DatagramsOut, DatagramsIn uint64
	DatagramsDropped          uint64 // malformed, from a stranger, or refused by a socket
}

type counters struct {
	accepted, limited, refused, dialErrors, acceptErrors, idle, broken atomic.Uint64
	bytesOut, bytesIn, datagramsOut, datagramsIn, datagramsDropped     atomic.Uint64
	active                                                             atomic.Int64
}

func (c *counters) read() Stats {
	return Stats{
		Accepted: c.accepted.Load(), Active: c.active.Load(), Limited: c.limited.Load(), Refused: c.refused.Load(),
		DialErrors: c.dialErrors.Load(), AcceptErrors: c.acceptErrors.Load(), IdleClosed: c.idle.Load(), Broken: c.broken.Load(),
		BytesOut: c.bytesOut.Load(), BytesIn: c.bytesIn.Load(),
		DatagramsOut: c.datagramsOut.Load(), DatagramsIn: c.datagramsIn.Load(), DatagramsDropped: c.datagramsDropped.Load(),
	}
}
