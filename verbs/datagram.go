// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"encoding/binary"

	"github.com/tbnet2/tbnet2/verbs/wire"
)

// GRHLen is what a UD receive has before the payload: the sender's address.
const GRHLen = 40

// datagram takes a datagram. What does not fit is dropped, as UD has it.
func (q *QP) datagram(p *peer, h *wire.Header, payload []byte) {
	drops := &q.pd.device.drops
	if q.typ != UD || h.Key != q.attr.QKey {
		drops.WrongPeer++
		return
	}
	w, ok := q.takeRecv()
	if !ok {
		drops.NoReceive++
		return
	}
	c := WC{ID: w.id, Opcode: WCRecv, Bytes: uint32(GRHLen + len(payload)), HasGRH: true, QPN: q.qpn, SrcQPN: h.Src,
		Imm: h.Imm, HasImm: h.Flags&wire.FlagImmediate != 0}
	g, ok := q.pd.local(w.sge, LocalWrite)
	switch {
	case !ok:
		c.Status = LocalProtection
	case g.size < int(c.Bytes):
		c.Status = LocalLengthError
	default:
		grh := q.grh(p, len(payload))
		g.write(0, grh[:])
		g.write(GRHLen, payload)
	}
	g.release()
	q.recvCQ.push(c, h.Flags&wire.FlagSolicited != 0)
}

// grh makes the global route header of a datagram from p.
func (q *QP) grh(p *peer, n int) (b [GRHLen]byte) {
	b[0] = 6 << 4 // version
	binary.BigEndian.PutUint16(b[4:], uint16(n))
	b[6], b[7] = 0x1b, 0xff // next header: InfiniBand; hop limit
	copy(b[8:], p.gid[:])
	copy(b[24:], q.pd.device.gid[:])
	return b
}
