// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"time"

	"github.com/tbnet2/tbnet2/verbs/wire"
)

// QPType is a kind of queue pair, with the values of ibv_qp_type.
type QPType uint32

// Kinds of queue pairs.
const (
	RC QPType = 2
	UC QPType = 3
	UD QPType = 4
)

// State is a queue pair's state, with the values of ibv_qp_state.
type State uint32

// States.
const (
	Reset State = iota
	Init
	ReadyToReceive
	ReadyToSend
	SendDrained
	SendError
	Error
)

// QPConfig makes a queue pair.
type QPConfig struct {
	Type           QPType
	SendCQ, RecvCQ *CQ
	SRQ            *SRQ // nil: a receive queue of its own
	SendWRs        int
	RecvWRs        int
	SGEs           int
	SignalAll      bool // every send request completes visibly
}

// QP is a queue pair.
type QP struct {
	pd     *PD
	qpn    uint32
	typ    QPType
	sendCQ *CQ
	recvCQ *CQ
	srq    *SRQ
	cfg    QPConfig

	state  State // guarded by device.mu, as all that follows
	attr   Attr
	peer   *peer // of RC and UC from ReadyToReceive on
	queued bool  // it is among the peer's ready ones
	gone   bool
	told   bool // EventLastWQEReached was sent

	requester
	responder
}

// requester is the half that sends requests.
type requester struct {
	sq       []*sendWQE // posted and not retired
	unsent   int        // index in sq of the first that was not wholly sent
	resend   []*sendWQE
	message  uint32 // number of the next message
	receives uint32 // messages so far that take a receive
	reads    int    // READs and atomics under way
	progress time.Time
	timer    *time.Timer // looks for progress while sq is not empty
	watching bool
}

// responder is the half that answers them.
type responder struct {
	rq        recvQueue
	expected  uint32 // the first message that is not done
	inbound   map[uint32]*inbound
	claims    map[uint32]*claim // receives that messages under way have, by their number
	claimed   uint32            // the next receive to be claimed
	received  uint32            // receives completed
	ackDue    bool
	naks      []wire.Header
	responses []*response
}

// CreateQP makes a queue pair in state Reset.
func (p *PD) CreateQP(c QPConfig) (*QP, error) {
	d := p.device
	d.mu.Lock()
	defer d.mu.Unlock()
	c.SGEs = max(1, c.SGEs)
	switch {
	case d.closed:
		return nil, ErrClosed
	case c.SendCQ == nil || c.RecvCQ == nil || c.SendCQ.device != d || c.RecvCQ.device != d:
		return nil, ErrInvalid
	case c.Type != RC && c.Type != UC && c.Type != UD || c.SRQ != nil && c.SRQ.pd != p:
		return nil, ErrInvalid
	case c.SendWRs < 0 || c.SendWRs > d.limits.WRs || c.RecvWRs < 0 || c.RecvWRs > d.limits.WRs || c.SGEs > d.limits.SGEs:
		return nil, ErrInvalid
	case len(d.qps) >= d.limits.QPs:
		return nil, ErrQuota
	}
	q := &QP{pd: p, qpn: d.drawQPN(), typ: c.Type, sendCQ: c.SendCQ, recvCQ: c.RecvCQ, srq: c.SRQ, cfg: c}
	q.rq.most, q.rq.sges = c.RecvWRs, c.SGEs
	q.clear()
	d.qps[q.qpn] = q
	p.users++
	c.SendCQ.users++
	c.RecvCQ.users++
	if c.SRQ != nil {
		c.SRQ.users++
	}
	return q, nil
}

// QPN is the queue pair's number.
func (q *QP) QPN() uint32 { return q.qpn }

// State tells the state.
func (q *QP) State() State {
	q.pd.device.mu.Lock()
	defer q.pd.device.mu.Unlock()
	return q.state
}

// Destroy ends the queue pair. What is under way is dropped, without
// completions.
func (q *QP) Destroy() error {
	d := q.pd.device
	d.mu.Lock()
	defer d.mu.Unlock()
	if q.gone {
		return ErrInvalid
	}
	q.gone = true
	q.clear()
	q.state = Reset
	delete(d.qps, q.qpn)
	q.pd.users--
	q.sendCQ.users--
	q.recvCQ.users--
	if q.srq != nil {
		q.srq.users--
	}
	return nil
}

// clear drops all that is under way. mu is held.
func (q *QP) clear() {
	q.stopTimers()
	for _, w := range q.sq {
		w.drop()
	}
	for _, c := range q.claims {
		c.g.release()
	}
	q.requester = requester{}
	q.responder = responder{rq: recvQueue{most: q.rq.most, sges: q.rq.sges}, inbound: map[uint32]*inbound{}, claims: map[uint32]*claim{}}
	q.peer, q.told = nil, false
}

func (q *QP) stopTimers() {
	if q.timer != nil {
		q.timer.Stop()
	}
}

// fatal tells of an event and fails the queue pair. mu is held.
func (q *QP) fatal(kind EventKind) {
	if q.state == Error || q.state == Reset {
		return
	}
	q.pd.device.emit(Event{Kind: kind, QP: q})
	q.fail()
}

// fail brings the queue pair into state Error and flushes both queues in
// order. mu is held.
func (q *QP) fail() {
	if q.state == Reset || q.gone {
		return
	}
	q.state = Error
	sq := q.sq
	q.sq, q.unsent, q.resend, q.reads = nil, 0, nil, 0
	for _, w := range sq {
		q.sendCQ.push(WC{ID: w.id, Status: FlushError, QPN: q.qpn}, false)
		w.drop()
	}
	for n := q.claimed - wire.MessagesOpen; n != q.claimed; n++ {
		if c := q.claims[n]; c != nil {
			c.g.release()
			q.recvCQ.push(WC{ID: c.id, Status: FlushError, QPN: q.qpn}, false)
		}
	}
	clear(q.claims)
	clear(q.inbound)
	q.received = q.claimed
	for w, ok := q.rq.take(); ok; w, ok = q.rq.take() {
		q.recvCQ.push(WC{ID: w.id, Status: FlushError, QPN: q.qpn}, false)
	}
	if q.srq != nil && !q.told {
		q.told = true
		q.pd.device.emit(Event{Kind: EventLastWQEReached, QP: q})
	}
}
