// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"encoding/binary"

	"github.com/tbnet2/tbnet2/wire"
)

// EtherTypes that a flow is looked for in.
const (
	typeIPv4 = 0x0800
	typeIPv6 = 0x86dd
	typeVLAN = 0x8100
	typeQinQ = 0x88a8
)

// Protocols of IP.
const (
	protoHopByHop = 0
	protoTCP      = 6
	protoUDP      = 17
	protoRouting  = 43
	protoDestOpts = 60
)

// Bounds of what is passed over to find a flow.
const (
	tagsMost       = 2
	extensionsMost = 4
)

// channelOf spreads flows over the channels: the same for both directions of
// a flow, and the same for all packets of one.
func channelOf(frame []byte) uint8 {
	h := flowHash(frame)
	h ^= h >> 16
	h ^= h >> 8
	h ^= h >> 4
	return uint8(h % wire.Channels)
}

// flowHash is symmetric in source and destination: addresses and ports of TCP
// and UDP, the addresses alone of other IP and of fragments, MACs of the rest.
func flowHash(frame []byte) uint32 {
	be := binary.BigEndian
	t, body := be.Uint16(frame[12:]), frame[14:]
	for i := 0; i < tagsMost && (t == typeVLAN || t == typeQinQ) && len(body) >= 4; i++ {
		t, body = be.Uint16(body[2:]), body[4:]
	}
	switch {
	case t == typeIPv4 && len(body) >= 20:
		h := mix(be.Uint32(body[12:]) ^ be.Uint32(body[16:]))
		header := int(body[0]&0x0f) * 4
		if be.Uint16(body[6:])&0x3fff != 0 || header < 20 {
			return h // a fragment: its ports are not in all of them
		}
		return h + portHash(body[9], body, header)
	case t == typeIPv6 && len(body) >= 40:
		h := uint32(0)
		for i := 8; i < 40; i += 4 {
			h ^= be.Uint32(body[i:])
		}
		proto, at := skipExtensions(body)
		return mix(h) + portHash(proto, body, at)
	}
	return mix(be.Uint32(frame[2:])^be.Uint32(frame[8:])) + mix(uint32(be.Uint16(frame[0:])^be.Uint16(frame[6:])))
}

// skipExtensions finds the protocol that an IPv6 header and the options behind
// it carry. A fragment header ends it: no ports are taken from fragments.
func skipExtensions(body []byte) (proto byte, at int) {
	proto, at = body[6], 40
	for range extensionsMost {
		if proto != protoHopByHop && proto != protoRouting && proto != protoDestOpts || len(body) < at+2 {
			break
		}
		proto, at = body[at], at+8+int(body[at+1])*8
	}
	return proto, at
}

// portHash hashes the ports of TCP and UDP.
func portHash(proto byte, body []byte, at int) uint32 {
	if proto != protoTCP && proto != protoUDP || len(body) < at+4 {
		return 0
	}
	be := binary.BigEndian
	a, b := uint32(be.Uint16(body[at:])), uint32(be.Uint16(body[at+2:]))
	return mix(a*b<<1 ^ (a ^ b))
}

// mix spreads the bits of x (Knuth's multiplicative hash).
func mix(x uint32) uint32 {
	x *= 2654435769
	return x ^ x>>15
}
