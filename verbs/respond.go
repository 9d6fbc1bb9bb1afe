// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"encoding/binary"
	"time"

	"github.com/tbnet2/tbnet2/verbs/wire"
)

// inbound is a message that arrives.
type inbound struct {
	head     wire.Header // of its first packet
	got      int
	claim    *claim
	refused  bool          // it was answered by Nak not ready, and comes again
	syndrome wire.Syndrome // it has failed
	operands [2]uint64
}

// claim is a receive that a message has taken.
type claim struct {
	id     uint64
	g      gather
	status Status
}

// response is an answer with content. It is the sender of its packets.
type response struct {
	head    wire.Header
	g       gather
	sent    int
	pending int
	handed  bool
}

// packetDone implements sender.
func (r *response) packetDone(bool) {
	r.pending--
	r.letGo()
}

func (r *response) letGo() {
	if r.handed && r.pending == 0 {
		r.g.release()
	}
}

// arrive takes a part of a request. mu is held.
func (q *QP) arrive(h *wire.Header, payload []byte) {
	drops := &q.pd.device.drops
	if q.typ == UD || q.typ == UC && h.Op != wire.Send && h.Op != wire.Write {
		drops.WrongPeer++
		return
	}
	if h.Message-q.expected >= wire.MessagesOpen {
		drops.Window++
		return
	}
	m := q.inbound[h.Message]
	if m == nil {
		m = &inbound{head: *h}
		q.inbound[h.Message] = m
	}
	if m.refused && h.Attempt == m.head.Attempt+1 {
		m.refused, m.got = false, 0
		m.head = *h
	}
	if m.refused || h.Attempt != m.head.Attempt {
		drops.Stale++
		return
	}
	m.got += len(payload)
	if !sameMessage(h, &m.head) || m.got > int(m.head.Total) {
		drops.Contradiction++
		m.syndrome = wire.InvalidRequest
	}
	if m.syndrome == 0 {
		q.place(m, h, payload)
	}
	q.advance()
}

func sameMessage(a, b *wire.Header) bool {
	return a.Op == b.Op && a.Flags == b.Flags && a.Total == b.Total && a.Addr == b.Addr && a.Key == b.Key && a.Receive == b.Receive
}

// place writes a part where it belongs, once it is shown that it may.
func (q *QP) place(m *inbound, h *wire.Header, payload []byte) {
	if h.TakesReceive() && m.claim == nil && !q.claimFor(m) {
		return
	}
	switch h.Op {
	case wire.Send:
		m.claim.g.write(int(h.Offset), payload)
	case wire.Write:
		if h.Total == 0 {
			return
		}
		// The whole message is checked, so that none is placed in part.
		b, ok := q.remote(h.Key, h.Addr, uint64(h.Total), RemoteWrite)
		if !ok {
			m.syndrome = wire.RemoteAccess
			return
		}
		copy(b[h.Offset:], payload)
	case wire.CompareSwap, wire.FetchAdd:
		m.operands = [2]uint64{binary.LittleEndian.Uint64(payload), binary.LittleEndian.Uint64(payload[8:])}
	}
}

// claimFor gives a message its receive; false if there is none, or none that
// fits.
func (q *QP) claimFor(m *inbound) bool {
	c, ok := q.takeClaim(m.head.Receive)
	switch {
	case !ok && q.typ == RC && m.head.Receive-q.received < wire.MessagesOpen && len(q.naks) < wire.MessagesOpen:
		m.refused = true
		q.naks = append(q.naks, wire.Header{Op: wire.Nak, Syndrome: wire.NotReady, Message: m.head.Message,
			Attempt: m.head.Attempt, Imm: uint32(q.attr.RNRTimer / time.Microsecond)})
		q.peer.want(q)
		return false
	case !ok || c == nil:
		q.pd.device.drops.NoReceive++
		m.syndrome = wire.InvalidRequest
		return false
	}
	m.claim = c
	switch {
	case c.status != Success:
		m.syndrome = wire.RemoteOperation
	case m.head.Op == wire.Send && int(m.head.Total) > c.g.size:
		c.status, m.syndrome = LocalLengthError, wire.InvalidRequest
	}
	return m.syndrome == 0
}

// takeClaim claims receives in order up to the n-th and gives that one; nil if
// another message has used it or it was passed over.
func (q *QP) takeClaim(n uint32) (*claim, bool) {
	if n-q.received >= wire.MessagesOpen {
		return nil, false
	}
	for int32(n-q.claimed) >= 0 {
		w, ok := q.takeRecv()
		if !ok {
			if q.typ == UC {
				q.claimed = n + 1 // these messages are lost
				return nil, true
			}
			return nil, false
		}
		c := &claim{id: w.id}
		if c.g, ok = q.pd.local(w.sge, LocalWrite); !ok {
			c.status = LocalProtection
		}
		q.claims[q.claimed] = c
		q.claimed++
	}
	return q.claims[n], true
}

// takeRecv takes a receive from the queue pair's own queue or the shared one.
func (q *QP) takeRecv() (recvWQE, bool) {
	if q.srq == nil {
		return q.rq.take()
	}
	w, ok := q.srq.queue.take()
	q.srq.watch()
	return w, ok
}

// advance does what is in turn: messages are done in order. mu is held.
func (q *QP) advance() {
	for q.state != Error {
		m := q.inbound[q.expected]
		if m == nil || m.refused || m.syndrome == 0 && m.got < int(m.head.Total) && m.head.Op != wire.ReadRequest {
			return
		}
		if m.syndrome == 0 {
			q.execute(m)
		}
		if m.syndrome != 0 && !q.passOver(m) {
			return
		}
		delete(q.inbound, q.expected)
		q.expected++
		if q.typ == RC {
			q.ackDue = true
			q.peer.want(q)
		}
	}
}

// execute does a message whose turn it is.
func (q *QP) execute(m *inbound) {
	switch m.head.Op {
	case wire.ReadRequest:
		q.read(m)
	case wire.CompareSwap, wire.FetchAdd:
		q.atomic(m)
	default:
		if m.claim == nil {
			return
		}
		if q.typ == RC && m.head.Receive != q.received { // its numbers are not in order
			m.syndrome = wire.InvalidRequest
			return
		}
		q.completeRecv(m)
	}
}

// completeRecv completes a message's receive.
func (q *QP) completeRecv(m *inbound) {
	h := &m.head
	w := WC{ID: m.claim.id, Opcode: WCRecv, Bytes: h.Total, QPN: q.qpn, SrcQPN: h.Src, Status: m.claim.status}
	if h.Op == wire.Write {
		w.Opcode = WCRecvImm
	}
	if h.Flags&wire.FlagImmediate != 0 {
		w.Imm, w.HasImm = h.Imm, true
	}
	m.claim.g.release()
	delete(q.claims, h.Receive)
	q.received = h.Receive + 1
	q.recvCQ.push(w, h.Flags&wire.FlagSolicited != 0)
}

// passOver ends a message that failed: the connection's end if it is reliable.
// It reports whether the queue pair goes on.
func (q *QP) passOver(m *inbound) bool {
	if m.claim != nil {
		if m.claim.status == Success {
			m.claim.status = LocalQPError
		}
		q.completeRecv(m)
	}
	if q.typ == UC {
		if m.head.TakesReceive() {
			q.received = m.head.Receive + 1
		}
		return true
	}
	q.naks = append(q.naks, wire.Header{Op: wire.Nak, Syndrome: m.syndrome, Message: m.head.Message, Attempt: m.head.Attempt})
	q.peer.want(q)
	kind := EventQPFatal
	if m.syndrome == wire.RemoteAccess {
		kind = EventQPAccess
	}
	q.fatal(kind)
	return false
}

// read queues the content that a READ asks for.
func (q *QP) read(m *inbound) {
	h := &m.head
	if len(q.responses) >= q.attr.MaxPeer {
		m.syndrome = wire.InvalidRequest
		return
	}
	r := &response{head: wire.Header{Op: wire.ReadResponse, Message: h.Message, Total: h.Total}}
	if h.Total > 0 {
		b, ok := q.remote(h.Key, h.Addr, uint64(h.Total), RemoteRead)
		if !ok {
			m.syndrome = wire.RemoteAccess
			return
		}
		mr := q.pd.device.keys[h.Key]
		mr.users++
		r.g = gather{parts: [][]byte{b}, mrs: []*MR{mr}, size: len(b)}
	}
	q.responses = append(q.responses, r)
}

// atomic executes an atomic operation. The device's lock makes it one against
// all others that go through this device.
func (q *QP) atomic(m *inbound) {
	h := &m.head
	b, ok := q.remote(h.Key, h.Addr, 8, RemoteAtomic)
	switch {
	case !ok:
		m.syndrome = wire.RemoteAccess
		return
	case len(q.responses) >= q.attr.MaxPeer:
		m.syndrome = wire.InvalidRequest
		return
	}
	was := binary.NativeEndian.Uint64(b)
	switch {
	case h.Op == wire.FetchAdd:
		binary.NativeEndian.PutUint64(b, was+m.operands[0])
	case was == m.operands[0]:
		binary.NativeEndian.PutUint64(b, m.operands[1])
	}
	q.responses = append(q.responses, &response{head: wire.Header{Op: wire.AtomicResponse, Message: h.Message, Total: 8},
		g: gather{parts: [][]byte{binary.LittleEndian.AppendUint64(nil, was)}, size: 8}})
}

// answer sends what the peer waits for; false if it could not be all.
func (q *QP) answer(p *peer) bool {
	for len(q.naks) > 0 {
		if !q.tell(p, q.naks[0]) {
			return false
		}
		q.naks = q.naks[1:]
	}
	if q.ackDue {
		if !q.tell(p, wire.Header{Op: wire.Ack, Message: q.expected}) {
			return false
		}
		q.ackDue = false
	}
	budget := quantum
	for len(q.responses) > 0 {
		r := q.responses[0]
		if !q.respond(p, r, &budget) {
			return false
		}
		q.responses = q.responses[1:]
		r.letGo()
	}
	return true
}

// tell sends a packet without content to the connected queue pair.
func (q *QP) tell(p *peer, h wire.Header) bool {
	h.Dst, h.Src = q.attr.RemoteQPN, q.qpn
	return p.send(&h, nil, nil)
}

// respond sends what is left of a response.
func (q *QP) respond(p *peer, r *response, budget *int) bool {
	for !r.handed {
		if *budget <= 0 {
			return false
		}
		n := min(p.fragment(), r.g.size-r.sent)
		h := r.head
		h.Dst, h.Src, h.Offset = q.attr.RemoteQPN, q.qpn, uint32(r.sent)
		if !p.send(&h, r.g.slice(nil, r.sent, n), r) {
			return false
		}
		if !copied(n) {
			r.pending++
		}
		*budget -= n + wire.HeaderLen
		r.sent += n
		r.handed = r.sent >= r.g.size
	}
	return true
}
