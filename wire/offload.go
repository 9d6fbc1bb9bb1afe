// SPDX-License-Identifier: Apache-2.0

package wire

import "errors"

// Bits of Offload.Flags and values of Offload.GSOType, as in virtio_net_hdr.
const (
	OffloadNeedsCsum = 1
	OffloadDataValid = 2

	GSONone  = 0
	GSOTCPv4 = 1
	GSOTCPv6 = 4
	GSOECN   = 0x80
)

// ErrOffload is returned for a descriptor that a kernel would not take from a
// virtual machine.
var ErrOffload = errors.New("wire: offload descriptor does not fit its packet")

// Offload describes work left to do on a packet: a checksum to fill in, and a
// superpacket to be cut into segments of GSOSize bytes. Positions count from
// the start of the packet (the Ethernet header).
type Offload struct {
	Flags      uint8
	GSOType    uint8
	HdrLen     uint16
	GSOSize    uint16
	CsumStart  uint16
	CsumOffset uint16
}

func (o *Offload) parse(b []byte) error {
	_ = b[OffloadLen-1]
	*o = Offload{b[0], b[1], le.Uint16(b[2:]), le.Uint16(b[4:]), le.Uint16(b[6:]), le.Uint16(b[8:])}
	if le.Uint32(b[10:])|uint32(le.Uint16(b[14:])) != 0 {
		return ErrReserved
	}
	return nil
}

// Put writes o to the first OffloadLen bytes of b.
func (o *Offload) Put(b []byte) {
	_ = b[OffloadLen-1]
	b[0], b[1] = o.Flags, o.GSOType
	le.PutUint16(b[2:], o.HdrLen)
	le.PutUint16(b[4:], o.GSOSize)
	le.PutUint16(b[6:], o.CsumStart)
	le.PutUint16(b[8:], o.CsumOffset)
	clear(b[10:OffloadLen])
}

// Check reports whether o may be believed for a packet of total bytes.
func (o *Offload) Check(total int) error {
	if o.Flags&^(OffloadNeedsCsum|OffloadDataValid) != 0 {
		return ErrOffload
	}
	if o.Flags&OffloadNeedsCsum != 0 && int(o.CsumStart)+int(o.CsumOffset)+2 > total {
		return ErrOffload
	}
	if int(o.HdrLen) > total {
		return ErrOffload
	}
	switch o.GSOType &^ GSOECN {
	case GSONone:
		if o.GSOType != 0 || o.GSOSize != 0 {
			return ErrOffload
		}
	case GSOTCPv4, GSOTCPv6:
		if o.GSOSize == 0 || o.Flags&OffloadNeedsCsum == 0 {
			return ErrOffload
		}
	default:
		return ErrOffload
	}
	return nil
}
