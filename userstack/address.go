// SPDX-License-Identifier: Apache-2.0

package userstack

import (
	"crypto/sha256"
	"encoding/binary"
	"net/netip"

	"github.com/google/uuid"
	"gvisor.dev/gvisor/pkg/tcpip"
)

// hashOf gives the bytes that a host's automatic names are made of.
func hashOf(host uuid.UUID) [sha256.Size]byte {
	return sha256.Sum256(append([]byte("tbnet2 userstack "), host[:]...))
}

// MAC is a host's Ethernet address: locally administered, always the same.
func MAC(host uuid.UUID) [6]byte {
	h := hashOf(host)
	return [6]byte{0x02, h[0], h[1], h[2], h[3], h[4]}
}

// LinkLocal4 is a host's automatic address in 169.254.0.0/16 (RFC 3927, which
// leaves out its first and last 256).
func LinkLocal4(host uuid.UUID) netip.Addr {
	const usable = 65536 - 2*256
	h := hashOf(host)
	n := uint16(256 + binary.BigEndian.Uint32(h[8:])%usable)
	return netip.AddrFrom4([4]byte{169, 254, byte(n >> 8), byte(n)})
}

// LinkLocal6 is a host's automatic address in fe80::/64, made of its MAC (RFC
// 4291).
func LinkLocal6(host uuid.UUID) netip.Addr {
	m := MAC(host)
	return netip.AddrFrom16([16]byte{0: 0xfe, 1: 0x80, 8: m[0] ^ 2, 9: m[1], 10: m[2], 11: 0xff, 12: 0xfe, 13: m[3], 14: m[4], 15: m[5]})
}

// automatic are the prefixes every host has.
func automatic(host uuid.UUID) []netip.Prefix {
	return []netip.Prefix{netip.PrefixFrom(LinkLocal4(host), 16), netip.PrefixFrom(LinkLocal6(host), 64)}
}

func tcpipAddress(a netip.Addr) tcpip.Address { return tcpip.AddrFromSlice(a.AsSlice()) }
