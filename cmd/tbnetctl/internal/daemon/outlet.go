// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"net"
	"net/netip"

	"github.com/tbnet2/tbnet2/ctl"
	"github.com/tbnet2/tbnet2/userstack/proxy"
)

// outlet is what programs use the fabric through.
type outlet interface {
	// status fills in Name, Kind, MTU, MaxPacket, Carrier and Addresses.
	status() ctl.Bond
	// change sets the MTU and adds addresses, as far as they are given.
	change(c ctl.BondChange) error
	// dial opens a TCP connection to an address in the bond.
	dial(ctx context.Context, to netip.AddrPort) (net.Conn, error)
	// listen takes TCP connections to any of the bond's IPv6 addresses.
	listen(port uint16) (net.Listener, error)
	// drops gives what it has dropped, by reason.
	drops() map[string]uint64
	// network is the bond as proxies see it; nil where programs need none.
	network() proxy.Network
	// done is closed when the outlet has failed by itself; err says why.
	done() <-chan struct{}
	err() error
	// Close ends it. It is idempotent.
	Close() error
}
