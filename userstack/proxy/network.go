// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// Dialer opens connections as net.Dialer does; networks are "tcp" and "udp".
type Dialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// Network is a side that can also be listened on; ":port" is all its addresses.
type Network interface {
	Dialer
	Listen(network, address string) (net.Listener, error)
	ListenPacket(network, address string) (net.PacketConn, error)
}

// Host is the Network of the kernel's sockets.
type Host struct{}

// DialContext implements Dialer.
func (Host) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, network, address)
}

// Listen implements Network.
func (Host) Listen(network, address string) (net.Listener, error) {
	return net.Listen(network, address)
}

// ListenPacket implements Network.
func (Host) ListenPacket(network, address string) (net.PacketConn, error) {
	return net.ListenPacket(network, address)
}

// Names finds the address of a peer. It gets names in lower case, without a
// final dot, and is called by several goroutines.
type Names func(name string) (netip.Addr, bool)

// StaticNames is a table of names that does not change.
func StaticNames(table map[string]netip.Addr) Names {
	lower := make(map[string]netip.Addr, len(table))
	for name, addr := range table {
		lower[canonical(name)] = addr
	}
	return func(name string) (netip.Addr, bool) {
		addr, ok := lower[name]
		return addr, ok
	}
}

func canonical(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

// UnknownNameError is for a host that is neither an address nor a peer's name.
type UnknownNameError struct{ Name string }

// Error implements error.
func (e *UnknownNameError) Error() string {
	return fmt.Sprintf("proxy: %q is neither an address nor the name of a peer", e.Name)
}

// resolve turns the host of an address into an IP address. Without names it
// leaves them to the dialer.
func (n Names) resolve(address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", fmt.Errorf("proxy: %q is no HOST:PORT", address)
	}
	if _, err := netip.ParseAddr(host); err == nil || n == nil {
		return address, nil
	}
	addr, ok := n(canonical(host))
	if !ok {
		return "", &UnknownNameError{host}
	}
	return net.JoinHostPort(addr.String(), port), nil
}
