// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"encoding/binary"
	"time"

	"github.com/tbnet2/tbnet2/verbs/wire"
)

// transmit sends answers first, then requests, up to a quantum; more is true
// if there is more to send and the port has room or will have. mu is held.
func (q *QP) transmit(p *peer) (more bool) {
	if q.gone {
		return false
	}
	if q.peer == p && !q.answer(p) {
		return true
	}
	if q.state != ReadyToSend {
		return false
	}
	budget := quantum
	for len(q.resend) > 0 {
		w := q.resend[0]
		if !w.dropped && !w.waits && !w.push(&budget) {
			return true
		}
		q.resend = q.resend[1:]
	}
	for q.unsent < len(q.sq) {
		w := q.sq[q.unsent]
		switch {
		case w.status != Success:
			q.retire()
			return false
		case !w.mayStart():
			return false
		case w.peer != p:
			w.peer.want(q)
			w.peer.wake()
			return false
		case !w.push(&budget):
			return true
		}
		q.unsent++
		if w.isRead() {
			q.reads++
		}
		if q.typ != RC {
			q.retire()
		}
	}
	return false
}

func (w *sendWQE) isRead() bool { return w.opcode >= OpRead }

// mayStart reports whether the window, the fence, the limit of READs and the
// RNR timer let the request go.
func (w *sendWQE) mayStart() bool {
	q := w.qp
	switch {
	case w.waits, w.head.Message-q.sq[0].head.Message >= wire.MessagesOpen:
		return false
	case w.flags&Fence != 0 && q.reads > 0:
		return false
	}
	return !w.isRead() || q.reads < q.attr.MaxReads
}

// push sends what is left of a request; false if it could not be all.
func (w *sendWQE) push(budget *int) bool {
	each := w.peer.fragment()
	if w.qp.typ == UD {
		each = wire.DatagramMax
	}
	for !w.handed {
		if *budget <= 0 {
			return false
		}
		n := min(each, w.size-w.sent)
		h := w.head
		h.Offset = uint32(w.sent)
		var parts [][]byte
		if h.Op == wire.CompareSwap || h.Op == wire.FetchAdd {
			parts, h.Offset, n = w.g.parts[1:], 0, wire.AtomicLen
		} else {
			parts = w.g.slice(nil, w.sent, n)
		}
		if !w.peer.send(&h, parts, w) {
			return false
		}
		if !copied(n) {
			w.pending++
		}
		*budget -= n + wire.HeaderLen
		w.sent += n
		w.handed = w.sent >= w.size
	}
	return true
}

// atomic appends the operands behind the piece of memory for the result.
func (w *sendWQE) atomic(r *SendWR) {
	if w.status != Success {
		return
	}
	operands := make([]byte, 0, wire.AtomicLen)
	operands = binary.LittleEndian.AppendUint64(operands, r.CompareAdd)
	operands = binary.LittleEndian.AppendUint64(operands, r.Swap)
	w.g.parts = append(w.g.parts, operands)
}

// packetDone implements sender.
func (w *sendWQE) packetDone(lost bool) {
	w.pending--
	if w.dropped {
		w.letGo()
		return
	}
	if !lost {
		w.qp.moved()
	}
	w.qp.retire()
}

// drop takes the request out of its queue; its memory stays in use while the
// transport holds packets of it.
func (w *sendWQE) drop() {
	w.dropped = true
	w.letGo()
}

func (w *sendWQE) letGo() {
	if w.pending == 0 {
		w.g.release()
	}
}

// done reports whether the request is complete.
func (w *sendWQE) done() bool {
	if !w.handed || w.pending > 0 {
		return false
	}
	return w.qp.typ != RC || w.finished
}

// retire completes requests in order. mu is held.
func (q *QP) retire() {
	for len(q.sq) > 0 && q.sq[0].done() && q.sq[0].status == Success {
		w := q.sq[0]
		q.sq[0] = nil
		q.sq = q.sq[1:]
		q.unsent = max(0, q.unsent-1)
		w.drop()
		if w.flags&Signaled != 0 || q.cfg.SignalAll {
			q.sendCQ.push(WC{ID: w.id, Opcode: completes[w.opcode], Bytes: uint32(w.g.size), QPN: q.qpn}, false)
		}
		if q.state != ReadyToSend && q.state != SendDrained {
			return // the queue has overrun
		}
	}
	if len(q.sq) > 0 && q.sq[0].status != Success {
		q.failHead(q.sq[0].status)
		return
	}
	if len(q.sq) == 0 {
		q.watching = false
		q.stopTimers()
		return
	}
	if q.unsent < len(q.sq) && q.sq[q.unsent].peer != nil && (q.sq[q.unsent].status != Success || q.sq[q.unsent].mayStart()) {
		q.sq[q.unsent].peer.want(q)
	}
}

// failHead completes the oldest request with an error and flushes the rest.
// mu is held.
func (q *QP) failHead(s Status) {
	if len(q.sq) == 0 {
		return
	}
	w := q.sq[0]
	q.sq = q.sq[1:]
	w.drop()
	q.sendCQ.push(WC{ID: w.id, Status: s, QPN: q.qpn}, false)
	q.fail()
}

// find gives the request with a message number that was sent, if it is there.
func (q *QP) find(message uint32) *sendWQE {
	if len(q.sq) == 0 {
		return nil
	}
	i := message - q.sq[0].head.Message
	if i >= uint32(len(q.sq)) || int(i) > q.unsent {
		return nil
	}
	return q.sq[i]
}

// acknowledged takes that all messages before next are done.
func (q *QP) acknowledged(next uint32) {
	if len(q.sq) == 0 || q.typ != RC {
		return
	}
	n := next - q.sq[0].head.Message
	if n > uint32(q.unsent) {
		return // of what was never sent
	}
	for _, w := range q.sq[:n] {
		if !w.isRead() {
			w.finished = true
		}
	}
	q.moved()
	q.retire()
}

// responded takes a part of a response.
func (q *QP) responded(h *wire.Header, payload []byte) {
	w := q.find(h.Message)
	atomic := h.Op == wire.AtomicResponse
	if w == nil || w.dropped || !w.handed || w.finished || !w.isRead() || atomic != (w.opcode != OpRead) ||
		int(h.Total) != w.g.size || int(h.Offset)+len(payload) > w.g.size {
		q.pd.device.drops.Contradiction++
		return
	}
	if atomic {
		binary.NativeEndian.PutUint64(w.g.parts[0], binary.LittleEndian.Uint64(payload))
		w.got = 8
	} else {
		w.g.write(int(h.Offset), payload)
		w.got += len(payload)
	}
	q.moved()
	if w.got >= w.g.size {
		w.finished = true
		q.reads--
		q.retire()
	}
}

// refused takes a Nak.
func (q *QP) refused(h *wire.Header) {
	w := q.find(h.Message)
	if w == nil || w.dropped || w.finished || q.typ != RC {
		return
	}
	q.moved()
	if h.Syndrome == wire.NotReady {
		if h.Attempt == w.head.Attempt && !w.waits && w.head.TakesReceive() {
			q.notReady(w, time.Duration(h.Imm)*time.Microsecond)
		}
		return
	}
	status := map[wire.Syndrome]Status{wire.InvalidRequest: RemoteInvalid, wire.RemoteAccess: RemoteAccessError,
		wire.RemoteOperation: RemoteOperationErr}[h.Syndrome]
	// What was before it is done, though the transport may hold packets yet.
	for len(q.sq) > 0 && q.sq[0] != w {
		first := q.sq[0]
		if first.isRead() && !first.finished {
			break
		}
		q.sq = q.sq[1:]
		q.unsent = max(0, q.unsent-1)
		first.drop()
		if first.flags&Signaled != 0 || q.cfg.SignalAll {
			q.sendCQ.push(WC{ID: first.id, Opcode: completes[first.opcode], Bytes: uint32(first.g.size), QPN: q.qpn}, false)
		}
	}
	if len(q.sq) > 0 && q.sq[0] == w {
		q.failHead(status)
		return
	}
	w.status = status // in its turn: a READ before it is not whole yet
}

// notReady sends a message again after a while.
func (q *QP) notReady(w *sendWQE, wait time.Duration) {
	if q.attr.RNRRetries != 7 {
		if w.tries >= q.attr.RNRRetries {
			w.status = RNRRetryExceeded
			q.retire()
			return
		}
		w.tries++
	}
	w.head.Attempt++
	w.waits, w.sent, w.handed = true, 0, false
	time.AfterFunc(min(wait, time.Second), func() { q.again(w) })
}

// again ends the wait of a message.
func (q *QP) again(w *sendWQE) {
	d := q.pd.device
	d.mu.Lock()
	if w.dropped || d.closed {
		d.mu.Unlock()
		return
	}
	w.waits = false
	q.moved()
	if w.head.Message-q.sq[0].head.Message < uint32(q.unsent) {
		q.resend = append(q.resend, w)
	}
	w.peer.want(q)
	w.peer.pump()
	d.mu.Unlock()
	w.peer.port.Flush()
}
