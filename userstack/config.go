// SPDX-License-Identifier: Apache-2.0

package userstack

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/google/uuid"
)

// Config says who the host is and how its TCP behaves.
type Config struct {
	Host uuid.UUID // required: the MAC and the automatic addresses come from it
	// Addresses are configured beside the automatic link-local ones.
	Addresses []netip.Prefix
	MTU       int // bytes of an IP packet; 0: MTUDefault, less where the port carries less

	ReadBuffer  int  // most bytes of a TCP receive buffer, 0: BufferDefault
	WriteBuffer int  // most bytes of a TCP send buffer, 0: BufferDefault
	RACK        bool // RFC 8985 loss detection; spurious over resequenced links, so off
	NoSACK      bool
	Reno        bool // Reno instead of cubic
}

// Defaults of Config.
const (
	MTUDefault    = 65520   // bytes
	BufferDefault = 8 << 20 // bytes
)

// Bounds of Config.
const (
	mtuLeast    = 1280 // RFC 8200
	bufferLeast = 4 << 10
	bufferMost  = 1 << 30
)

func (c Config) withDefaults() (Config, error) {
	if c.Host == uuid.Nil {
		return c, errors.New("userstack: Config.Host is not set: take the host's UUID")
	}
	if c.MTU == 0 {
		c.MTU = MTUDefault
	}
	if c.MTU < mtuLeast || c.MTU > MTUDefault {
		return c, fmt.Errorf("userstack: MTU %d is not from %d to %d bytes", c.MTU, mtuLeast, MTUDefault)
	}
	for _, b := range []*int{&c.ReadBuffer, &c.WriteBuffer} {
		if *b == 0 {
			*b = BufferDefault
		}
		if *b < bufferLeast || *b > bufferMost {
			return c, fmt.Errorf("userstack: a buffer of %d bytes is not from %d to %d", *b, bufferLeast, bufferMost)
		}
	}
	for _, a := range c.Addresses {
		if !a.IsValid() || a.Addr().IsMulticast() || a.Addr().IsUnspecified() {
			return c, fmt.Errorf("userstack: %v is no address of a host", a)
		}
	}
	return c, nil
}
