// SPDX-License-Identifier: Apache-2.0

package wire

// State begins the body of PING, PONG and ACK.
type State struct {
	Stamp      uint32 // 1024 ns
	Echo       uint32
	Heard      uint64
	Generation uint32
	Rails      uint8 // RailAcks that follow
	Channels   uint8 // ChannelAcks that follow them
}

// Put writes s to the first StateLen bytes of b.
func (s *State) Put(b []byte) {
	_ = b[StateLen-1]
	le.PutUint32(b, s.Stamp)
	le.PutUint32(b[4:], s.Echo)
	le.PutUint64(b[8:], s.Heard)
	le.PutUint32(b[16:], s.Generation)
	b[20], b[21], b[22], b[23] = s.Rails, s.Channels, 0, 0
}

// ParseState reads a state and gives the bytes behind it.
func ParseState(body []byte, s *State) (rest []byte, err error) {
	if len(body) < StateLen {
		return nil, ErrShort
	}
	if body[22]|body[23] != 0 {
		return nil, ErrReserved
	}
	*s = State{le.Uint32(body), le.Uint32(body[4:]), le.Uint64(body[8:]), le.Uint32(body[16:]), body[20], body[21]}
	return body[StateLen:], nil
}

// Gap is a run of lost rail sequences.
type Gap struct {
	Back  uint16 // RailAck.Next less the first of them
	Count uint16
}

// RailAck acknowledges one rail.
type RailAck struct {
	Rail   uint8
	Depth  uint16
	Next   uint32
	Credit uint32 // bytes
	Delay  uint32 // ns
	Count  uint8  // of Gaps
	Gaps   [GapsMax]Gap
}

// AppendRailAck adds a and its first a.Count gaps to b.
func AppendRailAck(b []byte, a *RailAck) []byte {
	b = append(b, a.Rail, a.Count)
	b = le.AppendUint16(b, a.Depth)
	b = le.AppendUint32(b, a.Next)
	b = le.AppendUint32(b, a.Credit)
	b = le.AppendUint32(b, a.Delay)
	for i := range a.Gaps[:a.Count] {
		b = le.AppendUint16(b, a.Gaps[i].Back)
		b = le.AppendUint16(b, a.Gaps[i].Count)
	}
	return b
}

// ParseRailAck takes the first rail block off body. Gaps come newest last and
// do not touch or overlap; each lies within Depth.
func ParseRailAck(body []byte, a *RailAck) (rest []byte, err error) {
	if len(body) < RailAckLen {
		return nil, ErrShort
	}
	a.Rail, a.Count = body[0], body[1]
	a.Depth = le.Uint16(body[2:])
	a.Next = le.Uint32(body[4:])
	a.Credit = le.Uint32(body[8:])
	a.Delay = le.Uint32(body[12:])
	body = body[RailAckLen:]
	if a.Rail >= RailsMax || a.Count > GapsMax {
		return nil, ErrReserved
	}
	if len(body) < int(a.Count)*GapLen {
		return nil, ErrShort
	}
	left := a.Depth // sequences before next not yet spoken for by an older gap
	for i := range a.Gaps[:a.Count] {
		g := Gap{le.Uint16(body[i*GapLen:]), le.Uint16(body[i*GapLen+2:])}
		if g.Back > left || g.Count == 0 || g.Count > g.Back {
			return nil, ErrReserved
		}
		left = g.Back - g.Count
		a.Gaps[i] = g
	}
	return body[int(a.Count)*GapLen:], nil
}

// ChannelAck acknowledges one channel.
type ChannelAck struct {
	Channel uint8
	Next    uint32
	Window  uint32 // bytes
}

// AppendChannelAck adds a to b.
func AppendChannelAck(b []byte, a ChannelAck) []byte {
	b = append(b, a.Channel, 0, 0, 0)
	b = le.AppendUint32(b, a.Next)
	return le.AppendUint32(b, a.Window)
}

// ParseChannelAck takes the first channel block off body.
func ParseChannelAck(body []byte) (a ChannelAck, rest []byte, err error) {
	if len(body) < ChannelAckLen {
		return a, nil, ErrShort
	}
	if body[0] >= Channels || body[1]|body[2]|body[3] != 0 {
		return a, nil, ErrReserved
	}
	return ChannelAck{body[0], le.Uint32(body[4:]), le.Uint32(body[8:])}, body[ChannelAckLen:], nil
}
