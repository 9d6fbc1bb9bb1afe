// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/google/uuid"

	"github.com/tbnet2/tbnet2/transport"
	"github.com/tbnet2/tbnet2/wire"
)

// Config says who speaks.
type Config struct {
	Host       uuid.UUID    // required
	HostName   string       // "": the machine's
	Endpoint   uint8        // see ClaimEndpoint
	Service    wire.Service // 0: ServiceEthernet
	Epoch      uint64       // 0: drawn
	Retransmit bool         // ask for retransmission on the link
	Window     int          // bytes of reorder memory per channel, 0: the transport's default
	QueueBytes int          // bytes that wait to be sent per peer, 0: the transport's default
	Policy     transport.Policy
	// Unordered turns resequencing off, to measure what it gives.
	Unordered bool
	// OnPeer, if set, is told of each new association and gives the peer a port
	// of its own, the same for all its associations. It is called under the
	// fabric's lock: it may set the port's handler and must not call the fabric.
	OnPeer func(PeerInfo, Port)
	Log    *slog.Logger // nil: none
}

// PeerInfo says who a peer is.
type PeerInfo struct {
	Host     uuid.UUID
	Endpoint uint8
	Name     string
}

// Errors that callers may branch on.
var (
	ErrNoPeer     = errors.New("no such peer")
	ErrNoRail     = errors.New("no such rail")
	ErrRailExists = errors.New("a rail of this name is there already")
	ErrAmbiguous  = errors.New("more than one peer has this name")
)

func (c Config) withDefaults() (Config, error) {
	if c.Host == uuid.Nil {
		return c, errors.New("fabric: Config.Host is not set: take the host's UUID")
	}
	if c.HostName == "" {
		name, err := os.Hostname()
		if err != nil {
			return c, fmt.Errorf("fabric: %w", err)
		}
		c.HostName = name
	}
	if len(c.HostName) > wire.HostNameMax {
		return c, fmt.Errorf("fabric: host name %q has more than %d bytes", c.HostName, wire.HostNameMax)
	}
	c.Service = cmp.Or(c.Service, wire.ServiceEthernet)
	c.Epoch = cmp.Or(c.Epoch, random())
	c.QueueBytes = cmp.Or(c.QueueBytes, transport.DefaultQueueBytes)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return c, nil
}

// random gives a number nobody can guess, not 0.
func random() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return max(1, binary.LittleEndian.Uint64(b[:]))
}

// handshake is what peers are told of us. Offload descriptors are taken from
// everybody; CRCs are each rail's own affair.
func (c *Config) handshake() transport.HandshakeConfig {
	caps := wire.CapOffload
	if c.Retransmit {
		caps |= wire.CapRetransmit
	}
	return transport.HandshakeConfig{Host: c.Host, Name: c.HostName, Endpoint: c.Endpoint, Service: c.Service,
		Epoch: c.Epoch, Caps: caps, Random: random}
}

// class is the delivery that a service gets.
func (c *Config) class() transport.Class {
	if c.Service == wire.ServiceVerbs {
		return transport.Reliable
	}
	return transport.Ordered
}
