// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/tbnet2/tbnet2/rail"
)

// Node is a host of a lab. Its methods may be called from any goroutine.
type Node struct {
	lab   *Lab
	index int
	name  string
	ends  []*end
	ns    *hostNS // nil in memory
	open  func(e *end, endpoint uint8) (rail.Device, error)
}

// Name is the host's name.
func (n *Node) Name() string { return n.name }

// UUID is the host's identity: the same for the same host name in any lab.
func (n *Node) UUID() uuid.UUID { return hostUUID(n.name) }

func hostUUID(name string) uuid.UUID {
	return uuid.NewSHA1(uuid.NameSpaceDNS, []byte(name+".lab.tbnet2"))
}

// NetNS is the host's network namespace, nil in memory.
func (n *Node) NetNS() *NetNS {
	if n.ns == nil {
		return nil
	}
	return n.ns.net
}

// Do runs f with the thread in the host's network namespace; in memory, where
// there is none, it only calls f.
func (n *Node) Do(f func() error) error {
	if n.ns == nil {
		return f()
	}
	return n.ns.net.Do(f)
}

// RailNames are the host's devices, in the topology's order: rail0, rail1, ...
func (n *Node) RailNames() []string {
	names := make([]string, len(n.ends))
	for i, e := range n.ends {
		names[i] = e.dev
	}
	return names
}

// OpenRails opens every rail of the host for endpoint 0, in the order of
// RailNames. The caller closes them, before the lab. A closed rail may be
// opened again.
func (n *Node) OpenRails() ([]rail.Device, error) { return n.OpenRailsFor(0) }

// OpenRailsFor opens every rail for an endpoint. In namespaces several
// endpoints may have a rail open at once; in memory a rail has one user.
func (n *Node) OpenRailsFor(endpoint uint8) ([]rail.Device, error) {
	var devs []rail.Device
	for _, e := range n.ends {
		d, err := n.OpenRail(e.dev, endpoint)
		if err != nil {
			errs := []error{err}
			for _, d := range devs {
				errs = append(errs, d.Close())
			}
			return nil, errors.Join(errs...)
		}
		devs = append(devs, d)
	}
	return devs, nil
}

// OpenRail opens one rail of the host for an endpoint.
func (n *Node) OpenRail(name string, endpoint uint8) (rail.Device, error) {
	for _, e := range n.ends {
		if e.dev != name {
			continue
		}
		d, err := n.open(e, endpoint)
		if err != nil {
			return nil, fmt.Errorf("host %s: %w", n.name, err)
		}
		return d, nil
	}
	return nil, fmt.Errorf("host %s: no rail %q; rails are %q", n.name, name, n.RailNames())
}
