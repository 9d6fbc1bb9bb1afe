// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"errors"
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// Endpoints that programs may claim; 0 is the kernel's.
const (
	endpointFirst = 1
	endpointLast  = 255
)

// Claim is an endpoint number that no other program in this network namespace
// has. It ends with Close, or with the process.
type Claim struct {
	Endpoint uint8
	socket   *net.UnixListener
}

// ClaimEndpoint claims an endpoint in the calling thread's network namespace:
// the given one, or with 0 the first that is free.
func ClaimEndpoint(want uint8) (*Claim, error) {
	if want != 0 {
		return claim(want)
	}
	for e := endpointFirst; e <= endpointLast; e++ {
		c, err := claim(uint8(e))
		if err == nil || !errors.Is(err, unix.EADDRINUSE) {
			return c, err
		}
	}
	return nil, errors.New("all 255 endpoints of this network namespace are taken")
}

// claim binds the abstract socket that stands for an endpoint.
func claim(e uint8) (*Claim, error) {
	name := fmt.Sprintf("@tbnet2-endpoint-%d", e)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("endpoint %d: %w", e, err)
	}
	return &Claim{Endpoint: e, socket: l}, nil
}

// Close gives the endpoint back.
func (c *Claim) Close() error { return c.socket.Close() }
