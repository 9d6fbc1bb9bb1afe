// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"slices"
	"time"

	"github.com/tbnet2/tbnet2/verbs/wire"
)

// sendWQE is a posted send request. It is the sender of its packets.
type sendWQE struct {
	qp       *QP
	id       uint64
	head     wire.Header // of its packets, but offset and length
	opcode   Opcode
	flags    SendFlags
	peer     *peer
	g        gather // content, or where a response goes
	status   Status // found when posted; it fails in its turn
	size     int    // bytes of content that travel in requests
	sent     int    // of them given to the port
	handed   bool   // all of them
	pending  int    // packets that the transport still holds
	got      int    // bytes of the response
	finished bool   // acknowledged, or the response is whole
	tries    uint8  // after RNR
	waits    bool   // for the RNR timer
	dropped  bool   // no longer in the queue
}

// PostSend adds requests, in order; it tells how many were taken, all without
// an error. Memory that they name stays unchanged until they complete.
func (q *QP) PostSend(list ...SendWR) (int, error) {
	d := q.pd.device
	d.mu.Lock()
	n, err := q.postAll(list)
	var to *peer
	if n > 0 && q.state == ReadyToSend {
		to = q.startSending()
	}
	d.mu.Unlock()
	if to != nil {
		to.port.Flush()
	}
	return n, err
}

func (q *QP) postAll(list []SendWR) (int, error) {
	for i := range list {
		if err := q.post(&list[i]); err != nil {
			return i, err
		}
	}
	return len(list), nil
}

// startSending sends what can go at once, and gives the peer to be flushed.
func (q *QP) startSending() *peer {
	to := q.peer
	if q.unsent < len(q.sq) {
		to = q.sq[q.unsent].peer
	}
	if to == nil {
		return nil
	}
	q.watch()
	to.want(q)
	to.pump()
	return to
}

// post adds one request. mu is held.
func (q *QP) post(r *SendWR) error {
	if q.gone || q.pd.device.closed {
		return ErrInvalid
	}
	if q.state == Error {
		q.sendCQ.push(WC{ID: r.ID, Status: FlushError, QPN: q.qpn}, false)
		return nil
	}
	if q.state != ReadyToSend && q.state != SendDrained {
		return ErrState
	}
	if len(q.sq) >= q.cfg.SendWRs {
		return ErrFull
	}
	if !q.takes(r) {
		return ErrInvalid
	}
	w := &sendWQE{qp: q, id: r.ID, opcode: r.Op, flags: r.Flags, peer: q.peer}
	if q.typ == UD {
		w.peer = r.AH.peer
	}
	if !w.fill(r) {
		return ErrInvalid
	}
	w.number(r)
	q.sq = append(q.sq, w)
	return nil
}

// takes reports whether the queue pair's kind has such a request.
func (q *QP) takes(r *SendWR) bool {
	l := q.pd.device.limits
	switch {
	case r.Op >= opEnd || len(r.SGE) > q.cfg.SGEs || len(r.InlineData) > l.Inline:
		return false
	case q.typ == UD:
		return (r.Op == OpSend || r.Op == OpSendImm) && r.AH != nil && r.AH.peer != nil && r.RemoteQPN < wire.QPNMax
	case q.typ == UC && r.Op >= OpRead:
		return false
	case r.Op >= OpRead && (r.Flags&Inline != 0 || q.attr.MaxReads == 0):
		return false
	}
	return true
}

// fill finds the request's memory. It is false if the lengths do not fit.
func (w *sendWQE) fill(r *SendWR) bool {
	if r.Flags&Inline != 0 {
		b := slices.Clone(r.InlineData)
		w.g = gather{parts: [][]byte{b}, size: len(b)}
	} else {
		total := 0
		for _, s := range r.SGE {
			total += int(s.Length)
		}
		if total > wire.MaxMessage {
			return false
		}
		need := Access(0)
		if r.Op >= OpRead {
			need = LocalWrite
		}
		var ok bool
		if w.g, ok = w.qp.pd.local(r.SGE, need); !ok {
			w.status = LocalProtection
		}
	}
	if w.qp.typ == UD && w.g.size > wire.DatagramMax {
		return false
	}
	return r.Op < OpCompareSwap || w.status != Success || w.g.size == 8
}

// number writes the header of the request's packets and gives it its place.
func (w *sendWQE) number(r *SendWR) {
	q := w.qp
	w.head = wire.Header{Dst: q.attr.RemoteQPN, Src: q.qpn, Message: q.message, Receive: q.receives,
		Op:    [opEnd]wire.Op{wire.Write, wire.Write, wire.Send, wire.Send, wire.ReadRequest, wire.CompareSwap, wire.FetchAdd}[r.Op],
		Total: uint32(w.g.size), Addr: r.RemoteAddr, Key: r.RKey}
	w.size = w.g.size
	switch {
	case r.Op == OpWriteImm || r.Op == OpSendImm:
		w.head.Flags |= wire.FlagImmediate
		w.head.Imm = r.Imm
	case r.Op == OpRead:
		w.size = 0
	case r.Op >= OpCompareSwap:
		w.size, w.head.Total = 0, wire.AtomicLen
	}
	if r.Flags&Solicited != 0 {
		w.head.Flags |= wire.FlagSolicited
	}
	switch q.typ {
	case UC:
		w.head.Flags |= wire.FlagUnreliable
	case UD:
		w.head.Op, w.head.Dst, w.head.Key, w.head.Addr = wire.Datagram, r.RemoteQPN, r.RemoteQKey, 0
	}
	if r.Op >= OpCompareSwap {
		w.atomic(r)
	}
	q.message++
	if w.head.TakesReceive() {
		q.receives++
	}
}

// PostRecv adds receives; it tells how many were taken.
func (q *QP) PostRecv(list ...RecvWR) (int, error) {
	q.pd.device.mu.Lock()
	defer q.pd.device.mu.Unlock()
	for i, w := range list {
		switch {
		case q.srq != nil || q.gone:
			return i, ErrInvalid
		case q.state == Reset:
			return i, ErrState
		case q.state == Error:
			q.recvCQ.push(WC{ID: w.ID, Status: FlushError, QPN: q.qpn}, false)
			continue
		}
		if err := q.rq.post(q.pd.device, w); err != nil {
			return i, err
		}
	}
	return len(list), nil
}

// watch sees to it that time without progress ends the queue pair. mu is held.
func (q *QP) watch() {
	if q.typ != RC || q.attr.Timeout == 0 || q.watching || len(q.sq) == 0 {
		return
	}
	q.watching = true
	q.progress = time.Now()
	if q.timer != nil {
		q.timer.Stop()
	}
	var t *time.Timer
	t = time.AfterFunc(q.patience(), func() { q.look(&t) })
	q.timer = t
}

// patience is how long a queue pair waits for any progress.
func (q *QP) patience() time.Duration {
	return time.Duration(4096<<q.attr.Timeout) * time.Duration(1+q.attr.Retries)
}

// look ends the queue pair if nothing has come for too long.
func (q *QP) look(t **time.Timer) {
	d := q.pd.device
	d.mu.Lock()
	defer d.mu.Unlock()
	if q.timer != *t || !q.watching {
		return
	}
	if len(q.sq) == 0 || q.state != ReadyToSend && q.state != SendDrained {
		q.watching = false
		return
	}
	left := q.patience() - time.Since(q.progress)
	if left > 0 {
		(*t).Reset(left)
		return
	}
	q.watching = false
	q.failHead(RetryExceeded)
}

// moved notes progress. mu is held.
func (q *QP) moved() {
	q.progress = time.Now()
}
