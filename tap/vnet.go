// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"encoding/binary"
	"errors"

	"github.com/tbnet2/tbnet2/wire"
)

// vnetLen is sizeof(struct virtio_net_hdr): the header before each frame that
// is read from or written to the device, little-endian (TUNSETVNETLE). It is
// the first 10 bytes of wire.Offload's own form.
const vnetLen = 10

// Sizes in bytes of what stands before a TCP header.
const (
	ethLen     = 14
	vlanLen    = 4
	ipv4Len    = 20
	ipv6Len    = 40
	tcpLen     = 20
	tcpCsumOff = 16
)

// gsoSizeMin is the least segment a kernel makes: its tcp_min_snd_mss of 48
// bytes less 40 of options. Anything below would cut one frame into thousands.
const gsoSizeMin = 8

var errOffload = errors.New("tap: offload descriptor does not fit its frame")

// parseVnet maps the kernel's header to o and reports whether there is any
// work left to do on the frame. DATA_VALID alone is none: such a checksum is
// in the frame and right.
func parseVnet(b []byte, o *wire.Offload) bool {
	_ = b[vnetLen-1]
	le := binary.LittleEndian
	*o = wire.Offload{
		Flags: b[0] & wire.OffloadNeedsCsum, GSOType: b[1],
		HdrLen: le.Uint16(b[2:]), GSOSize: le.Uint16(b[4:]),
		CsumStart: le.Uint16(b[6:]), CsumOffset: le.Uint16(b[8:]),
	}
	return o.Flags != 0 || o.GSOType != wire.GSONone
}

// putVnet writes the header for a frame from a peer, whose descriptor was
// checked. DATA_VALID is left out: the peer cannot vouch towards our kernel.
func putVnet(b *[wire.OffloadLen]byte, has bool, o *wire.Offload) {
	clear(b[:])
	if has {
		o.Put(b[:])
		b[0] &= wire.OffloadNeedsCsum
	}
}

// checkOffload judges a peer's descriptor against the frame it came with, so
// that the kernel only sees what an honest one could have written: positions
// inside the frame and behind its headers, and a superpacket that is TCP over
// the IP version it claims.
func checkOffload(frame []byte, o *wire.Offload) error {
	if o.Check(len(frame)) != nil || (o.HdrLen != 0 && o.HdrLen < ethLen) {
		return errOffload
	}
	if o.Flags&wire.OffloadNeedsCsum == 0 {
		return nil
	}
	if int(o.CsumStart) < ethLen {
		return errOffload
	}
	if o.GSOType != wire.GSONone {
		return checkGSO(frame, o)
	}
	return nil
}

func checkGSO(frame []byte, o *wire.Offload) error {
	proto, ip := etherType(frame)
	tcp := int(o.CsumStart)
	if o.GSOSize < gsoSizeMin || o.CsumOffset != tcpCsumOff || tcp+tcpLen > len(frame) {
		return errOffload
	}
	if hdr := tcp + int(frame[tcp+12]>>4)*4; hdr < tcp+tcpLen || hdr >= len(frame) {
		return errOffload
	}
	switch {
	case o.GSOType&^wire.GSOECN == wire.GSOTCPv4 && proto == 0x0800 && ip+ipv4Len <= tcp &&
		frame[ip]>>4 == 4 && frame[ip+9] == 6 && ip+int(frame[ip]&15)*4 == tcp:
		return nil
	case o.GSOType&^wire.GSOECN == wire.GSOTCPv6 && proto == 0x86dd && ip+ipv6Len <= tcp && frame[ip]>>4 == 6:
		return nil
	}
	return errOffload
}

// etherType gives a frame's protocol and where its content begins, behind up
// to two VLAN tags. 0 where the frame is too short.
func etherType(frame []byte) (proto uint16, at int) {
	at = ethLen
	for range 3 {
		if len(frame) < at {
			return 0, at
		}
		proto = binary.BigEndian.Uint16(frame[at-2:])
		if proto != 0x8100 && proto != 0x88a8 {
			return proto, at
		}
		at += vlanLen
	}
	return 0, at
}
