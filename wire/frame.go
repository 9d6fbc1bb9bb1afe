// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/binary"
	"errors"
)

var le = binary.LittleEndian

// Reasons for which bytes are no frame. Callers count by them.
var (
	ErrShort    = errors.New("wire: frame is shorter than its headers or length say")
	ErrVersion  = errors.New("wire: frame is of another version")
	ErrType     = errors.New("wire: frame type is unknown")
	ErrReserved = errors.New("wire: reserved bits are set")
)

// Header begins every frame.
type Header struct {
	Type    Type
	Flags   uint8
	Length  uint16 // bytes after the header
	Index   uint32
	RailSeq uint32
	CRC     uint32
}

// ParseHeader reads the header of a frame and gives the Length bytes after it.
// Padding behind them is cut off.
func ParseHeader(frame []byte, h *Header) (body []byte, err error) {
	if len(frame) < HeaderLen {
		return nil, ErrShort
	}
	if frame[0]>>4 != Version {
		return nil, ErrVersion
	}
	h.Type = Type(frame[0] & 0x0f)
	if h.Type >= typeEnd {
		return nil, ErrType
	}
	h.Flags = frame[1]
	if h.Flags&^(FlagCRC|FlagOffload|FlagResent|FlagAck) != 0 {
		return nil, ErrReserved
	}
	h.Length = le.Uint16(frame[2:])
	h.Index = le.Uint32(frame[4:])
	h.RailSeq = le.Uint32(frame[8:])
	h.CRC = le.Uint32(frame[12:])
	if len(frame)-HeaderLen < int(h.Length) {
		return nil, ErrShort
	}
	return frame[HeaderLen : HeaderLen+int(h.Length)], nil
}

// Put writes h to the first HeaderLen bytes of b.
func (h *Header) Put(b []byte) {
	_ = b[HeaderLen-1]
	b[0] = Version<<4 | byte(h.Type)
	b[1] = h.Flags
	le.PutUint16(b[2:], h.Length)
	le.PutUint32(b[4:], h.Index)
	le.PutUint32(b[8:], h.RailSeq)
	le.PutUint32(b[12:], h.CRC)
}

// Data follows the header of a DATA frame.
type Data struct {
	Packet  uint32
	Offset  uint16 // in Unit
	Channel uint8
	Total   uint32 // bytes
	Stamp   uint32 // 1024 ns
}

// ParseData reads the body of a DATA frame. payload is what follows the
// headers; o is filled when flags say that an offload descriptor is there.
func ParseData(flags uint8, body []byte, d *Data, o *Offload) (payload []byte, err error) {
	if len(body) < DataLen {
		return nil, ErrShort
	}
	d.Packet = le.Uint32(body)
	d.Offset = le.Uint16(body[4:])
	d.Channel = body[6]
	if body[7] != 0 {
		return nil, ErrReserved
	}
	d.Total = le.Uint32(body[8:])
	d.Stamp = le.Uint32(body[12:])
	body = body[DataLen:]
	if flags&FlagOffload == 0 {
		return body, nil
	}
	if len(body) < OffloadLen {
		return nil, ErrShort
	}
	return body[OffloadLen:], o.parse(body)
}

// Put writes d to the first DataLen bytes of b.
func (d *Data) Put(b []byte) {
	_ = b[DataLen-1]
	le.PutUint32(b, d.Packet)
	le.PutUint16(b[4:], d.Offset)
	b[6], b[7] = d.Channel, 0
	le.PutUint32(b[8:], d.Total)
	le.PutUint32(b[12:], d.Stamp)
}

// Mark names a packet of a channel, in POSITION and SKIP.
type Mark struct {
	Channel uint8
	Packet  uint32
}

// AppendMark adds m to b.
func AppendMark(b []byte, m Mark) []byte {
	b = append(b, m.Channel, 0, 0, 0)
	return le.AppendUint32(b, m.Packet)
}

// ParseMark takes the first mark off body.
func ParseMark(body []byte) (m Mark, rest []byte, err error) {
	if len(body) < MarkLen {
		return m, nil, ErrShort
	}
	if body[1]|body[2]|body[3] != 0 {
		return m, nil, ErrReserved
	}
	return Mark{Channel: body[0], Packet: le.Uint32(body[4:])}, body[MarkLen:], nil
}

// RailSet announces which of the sender's rails are in use.
type RailSet struct {
	Generation uint32
	Rails      uint64
}

// AppendRailSet adds s to b.
func AppendRailSet(b []byte, s RailSet) []byte {
	b = le.AppendUint32(b, s.Generation)
	b = le.AppendUint32(b, 0)
	return le.AppendUint64(b, s.Rails)
}

// ParseRailSet reads the body of a RAILSET frame.
func ParseRailSet(body []byte) (s RailSet, err error) {
	if len(body) != RailSetLen {
		return s, ErrShort
	}
	if le.Uint32(body[4:]) != 0 {
		return s, ErrReserved
	}
	return RailSet{le.Uint32(body), le.Uint64(body[8:])}, nil
}

// Reset says that an index is not, or no longer, served.
type Reset struct {
	Index  uint32
	Reason uint8
}

// AppendReset adds r to b.
func AppendReset(b []byte, r Reset) []byte {
	b = le.AppendUint32(b, r.Index)
	return append(b, r.Reason, 0, 0, 0)
}

// ParseReset reads the body of a RESET frame.
func ParseReset(body []byte) (r Reset, err error) {
	if len(body) != ResetLen {
		return r, ErrShort
	}
	if body[5]|body[6]|body[7] != 0 {
		return r, ErrReserved
	}
	return Reset{le.Uint32(body), body[4]}, nil
}
