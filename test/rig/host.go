// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/tbnet2/tbnet2/fabric"
	"github.com/tbnet2/tbnet2/tap"
	"github.com/tbnet2/tbnet2/userstack"
)

// Host is one end of a pair, or one endpoint of such an end.
type Host struct {
	Node   Place
	Addr   netip.Addr
	Fabric *fabric.Fabric // nil without a bundle
	Stack  *userstack.Stack
	TAP    *tap.Device
	sock   sockets
	plain  *netstack // of FDBased and NoLink
}

// sockets is a TCP/IP.
type sockets interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
	Listen(network, address string) (net.Listener, error)
}

// DefaultEndpoint is the one that a host's outlet speaks as.
const DefaultEndpoint = 1

// OpenHost makes a host of a place: its fabric over all rails, and its outlet
// with an address of a /24.
func OpenHost(n Place, addr string, c Config) (*Host, error) {
	return OpenEndpoint(n, addr, DefaultEndpoint, c)
}

// OpenEndpoint is OpenHost for one of several endpoints of a place.
func OpenEndpoint(n Place, addr string, endpoint uint8, c Config) (*Host, error) {
	h := &Host{Node: n, Addr: netip.MustParseAddr(addr)}
	err := h.open(endpoint, c)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("host %s: %w", n.Name(), err), h.Close())
	}
	return h, nil
}

func (h *Host) open(endpoint uint8, c Config) error {
	switch c.Outlet {
	case Kernel:
		return h.openKernel()
	case MPTCP:
		return h.openMPTCP()
	case FDBased:
		return h.openFDBased()
	}
	if err := h.openFabric(endpoint, c); err != nil {
		return err
	}
	switch c.Outlet {
	case GVisor:
		return h.openStack()
	case TAP:
		return h.openTAP(endpoint)
	}
	return fmt.Errorf("unknown outlet %q", c.Outlet)
}

func (h *Host) openFabric(endpoint uint8, c Config) error {
	f, err := fabric.New(fabric.Config{
		Host: h.Node.UUID(), HostName: h.Node.Name(), Endpoint: endpoint,
		Retransmit: !c.Unordered, Policy: c.Policy, Unordered: c.Unordered,
	})
	if err != nil {
		return err
	}
	h.Fabric = f
	devs, err := h.Node.OpenRailsFor(endpoint)
	if err != nil {
		return err
	}
	for i, d := range devs {
		if err := f.AddRail(d, fabric.RailOptions{NoCRC: c.NoCRC}); err != nil {
			for _, rest := range devs[i:] {
				err = errors.Join(err, rest.Close())
			}
			return err
		}
	}
	return nil
}

func (h *Host) prefix() netip.Prefix { return netip.PrefixFrom(h.Addr, 24) }

func (h *Host) openStack() (err error) {
	h.Stack, err = userstack.New(h.Fabric.Port(), userstack.Config{Host: h.Node.UUID(), Addresses: []netip.Prefix{h.prefix()}})
	h.sock = h.Stack
	return err
}

func (h *Host) openTAP(endpoint uint8) (err error) {
	name := fmt.Sprintf("tbbond%d", endpoint)
	h.TAP, err = tap.Open(tap.Config{Name: name, NetNS: netnsFd(h.Node), MAC: tap.MAC(h.Node.UUID(), name), Addrs: []netip.Prefix{h.prefix()}})
	if err != nil {
		return err
	}
	h.sock = kernelSockets{node: h.Node}
	return h.TAP.Attach(h.Fabric.Port())
}

// RailsUp counts the host's rails that are up at their full MTU, each once for
// every peer.
func (h *Host) RailsUp() int { return up(h.Fabric.Status()) }

// Listen listens for TCP on the host's address.
func (h *Host) Listen(port uint16) (net.Listener, error) {
	return h.sock.Listen("tcp", netip.AddrPortFrom(h.Addr, port).String())
}

// Dial connects to a listener of the other host.
func (h *Host) Dial(ctx context.Context, address string) (net.Conn, error) {
	return h.sock.DialContext(ctx, "tcp", address)
}

// Close ends the host's outlet and fabric; the node stays.
func (h *Host) Close() error {
	var errs []error
	if h.Stack != nil {
		errs = append(errs, h.Stack.Close())
	}
	if h.plain != nil {
		errs = append(errs, h.plain.Close())
	}
	if h.Fabric != nil { // before the TAP, see tap.Device.Close
		errs = append(errs, h.Fabric.Close())
	}
	if h.TAP != nil {
		errs = append(errs, h.TAP.Close())
	}
	return errors.Join(errs...)
}
