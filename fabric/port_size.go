// SPDX-License-Identifier: Apache-2.0

package fabric

import "github.com/tbnet2/tbnet2/wire"

// superpacket is the largest frame that an outlet makes: an IP packet of 65535
// bytes and its Ethernet header.
const superpacket = 65535 + 14

// maxPacket is the largest packet that suits rails of an MTU: one that fills
// its last frame, or the largest there is if that fills half of it at least.
func maxPacket(mtu int) int {
	const heads = wire.HeaderLen + wire.DataLen
	first := mtu - heads - wire.OffloadLen // the first fragment has the offload descriptor
	if first >= superpacket {
		return superpacket
	}
	if first >= superpacket/2 {
		return first // one frame, rather than a full one and half a one
	}
	first &^= wire.Unit - 1
	last := mtu - heads // need not end at a unit
	each := last &^ (wire.Unit - 1)
	if each <= 0 {
		return superpacket
	}
	frames := 1 + (superpacket-first)/each
	if rest := superpacket - first - (frames-1)*each; rest >= each/2 {
		return superpacket
	}
	return min(superpacket, first+(frames-2)*each+last)
}
