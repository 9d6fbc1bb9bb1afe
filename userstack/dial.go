// SPDX-License-Identifier: Apache-2.0

package userstack

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
)

// target is an address in netstack's terms.
type target struct {
	full  tcpip.FullAddress
	proto tcpip.NetworkProtocolNumber
	udp   bool
}

// parse reads network ("tcp", "udp", with 4 or 6) and "host:port", where host
// is an address, or empty for all.
func parse(op, network, address string) (t target, err error) {
	fail := func(err error) (target, error) {
		return t, &net.OpError{Op: op, Net: network, Err: err}
	}
	var family byte
	switch network {
	case "tcp", "udp":
	case "tcp4", "udp4", "tcp6", "udp6":
		family = network[3]
	default:
		return fail(net.UnknownNetworkError(network))
	}
	t.udp = network[0] == 'u'
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return fail(err)
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return fail(&net.AddrError{Err: "port is not from 0 to 65535", Addr: address})
	}
	t.full = tcpip.FullAddress{NIC: nic, Port: uint16(port)}
	t.proto = ipv6.ProtocolNumber // both families, where the address is empty
	if family == '4' {
		t.proto = ipv4.ProtocolNumber
	}
	if host == "" {
		return t, nil
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return fail(&net.AddrError{Err: "host is not an IP address", Addr: host})
	}
	ip = ip.Unmap().WithZone("")
	if ip.Is4() && family == '6' || ip.Is6() && family == '4' {
		return fail(&net.AddrError{Err: "address is of the other IP version", Addr: host})
	}
	if ip.Is4() {
		t.proto = ipv4.ProtocolNumber
	}
	if !ip.IsUnspecified() {
		t.full.Addr = tcpipAddress(ip)
	}
	return t, nil
}

// DialContext connects like net.Dialer.DialContext. Hosts are IP addresses.
func (s *Stack) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	t, err := parse("dial", network, address)
	if err != nil {
		return nil, err
	}
	if t.full.Addr.Len() == 0 {
		return nil, &net.OpError{Op: "dial", Net: network, Err: &net.AddrError{Err: "host is missing", Addr: address}}
	}
	if t.udp {
		return gonet.DialUDP(s.net, nil, &t.full, t.proto)
	}
	return gonet.DialContextTCP(ctx, s.net, t.full, t.proto)
}

// Dial is DialContext without a context.
func (s *Stack) Dial(network, address string) (net.Conn, error) {
	return s.DialContext(context.Background(), network, address)
}

// Listen listens for TCP like net.Listen.
func (s *Stack) Listen(network, address string) (net.Listener, error) {
	t, err := parse("listen", network, address)
	if err != nil {
		return nil, err
	}
	if t.udp {
		return nil, &net.OpError{Op: "listen", Net: network, Err: net.UnknownNetworkError(network)}
	}
	l, err := gonet.ListenTCP(s.net, t.full, t.proto)
	if err != nil {
		return nil, &net.OpError{Op: "listen", Net: network, Err: fmt.Errorf("%s: %w", address, err)}
	}
	return l, nil
}

// ListenPacket listens for UDP like net.ListenPacket.
func (s *Stack) ListenPacket(network, address string) (net.PacketConn, error) {
	t, err := parse("listen", network, address)
	if err != nil {
		return nil, err
	}
	if !t.udp {
		return nil, &net.OpError{Op: "listen", Net: network, Err: net.UnknownNetworkError(network)}
	}
	return gonet.DialUDP(s.net, &t.full, nil, t.proto)
}
