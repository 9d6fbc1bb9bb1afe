// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"github.com/tbnet2/tbnet2/rail"
	"github.com/tbnet2/tbnet2/rail/packet"
)

// openRail opens a host's end with packet sockets. The devices are our own, so
// frames may pass their queueing discipline by; what shapes them is in the
// middle.
func (p *netPlant) openRail(e *end, endpoint uint8) (rail.Device, error) {
	return packet.Open(packet.Config{
		Interface: e.dev, NetNS: e.node.ns.net.Fd(), Endpoint: endpoint, Bypass: true, Group: e.link.groupID(),
	})
}
