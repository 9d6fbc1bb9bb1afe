// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"slices"

	"github.com/tbnet2/tbnet2/transport"
	"github.com/tbnet2/tbnet2/verbs/wire"
)

// partKey names a packet that comes in pieces.
type partKey struct {
	channel uint8
	packet  transport.Seq
}

// partial is a packet that comes in pieces: it was cut for a rail of smaller
// MTU. How many there are is bounded by the transport's windows.
type partial struct {
	head   wire.Header
	parsed bool
	bad    bool
	got    int
	pieces []piece // that came before the header, or all where the packet is needed whole
}

// piece is a copy of a piece.
type piece struct {
	off  int
	data []byte
}

// receive implements the handler of the peer's port.
func (p *peer) receive(batch []transport.Delivery) {
	d := p.device
	d.mu.Lock()
	defer d.mu.Unlock()
	if p.reset.Swap(false) {
		clear(p.parts)
	}
	for i := range batch {
		v := &batch[i]
		if !d.closed {
			p.take(v)
		}
		if v.Buf != nil {
			p.port.Release(v.Buf)
		}
	}
	p.reap()
	p.pump() // the caller flushes the same peer
}

// take places a delivery, or keeps it until its header has come. mu is held.
func (p *peer) take(v *transport.Delivery) {
	if v.Offset == 0 && len(v.Data) == v.Total {
		var h wire.Header
		if h.Parse(v.Data, v.Total) != nil {
			p.device.drops.Malformed++
			return
		}
		p.dispatch(&h, v.Data[wire.HeaderLen:])
		return
	}
	key := partKey{v.Channel, v.Packet}
	a := p.parts[key]
	if a == nil {
		a = &partial{}
		p.parts[key] = a
	}
	a.got += len(v.Data)
	if a.got >= v.Total {
		delete(p.parts, key)
	}
	p.takePiece(a, v)
}

func (p *peer) takePiece(a *partial, v *transport.Delivery) {
	if v.Offset == 0 && !a.bad {
		a.bad = a.head.Parse(v.Data, v.Total) != nil
		a.parsed = !a.bad
		if a.bad {
			a.pieces = nil
			p.device.drops.Malformed++
		}
	}
	if a.bad {
		return
	}
	data, off := v.Data, v.Offset-wire.HeaderLen
	if v.Offset == 0 {
		data, off = data[wire.HeaderLen:], 0
	}
	if !a.parsed || !streams(a.head.Op) {
		a.pieces = append(a.pieces, piece{off, slices.Clone(data)})
		if a.parsed && a.got >= v.Total {
			whole := make([]byte, a.head.Length)
			for _, x := range a.pieces {
				copy(whole[x.off:], x.data)
			}
			p.dispatch(&a.head, whole)
			return
		}
		if !a.parsed || !streams(a.head.Op) {
			return
		}
	}
	p.dispatchPiece(a, off, data)
	for _, x := range a.pieces {
		p.dispatchPiece(a, x.off, x.data)
	}
	a.pieces = nil
}

// streams reports whether pieces of a packet make sense alone.
func streams(o wire.Op) bool { return o == wire.Send || o == wire.Write || o == wire.ReadResponse }

func (p *peer) dispatchPiece(a *partial, off int, data []byte) {
	if len(data) == 0 {
		return
	}
	h := a.head
	h.Offset += uint32(off)
	h.Length = uint32(len(data))
	p.dispatch(&h, data)
}

// dispatch gives a packet to its queue pair. mu is held.
func (p *peer) dispatch(h *wire.Header, payload []byte) {
	d := p.device
	q := d.qps[h.Dst]
	switch {
	case q == nil || q.state != ReadyToReceive && q.state != ReadyToSend && q.state != SendDrained:
		d.drops.NoQP++
	case h.Op == wire.Datagram:
		q.datagram(p, h, payload)
	case q.peer != p || q.attr.RemoteQPN != h.Src || (q.typ == UC) != (h.Flags&wire.FlagUnreliable != 0):
		d.drops.WrongPeer++
	case h.Op == wire.Ack:
		q.acknowledged(h.Message)
	case h.Op == wire.Nak:
		q.refused(h)
	case h.Op == wire.ReadResponse || h.Op == wire.AtomicResponse:
		q.responded(h, payload)
	default:
		q.arrive(h, payload)
	}
}
