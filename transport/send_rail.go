// SPDX-License-Identifier: Apache-2.0

package transport

import "github.com/tbnet2/tbnet2/wire"

// sendRail is the send half's view of one rail.
type sendRail struct {
	RailConfig
	ledger   ledger
	estimate estimate
	health   health
	probe    mtuProbe

	backlog   Time   // until the path is idle, by the rate; see look
	queue     Time   // how long the path is busy with what is in flight; see weigh
	served    Time   // of what is in flight, at most; see look
	idleAt    Time   // backlog's end, running clock
	credit    uint64 // ledger.bytes may grow to this
	wrote     uint64 // bytes sent by the weight's measure
	unflagged int    // bytes since the last frame that asked for an ack
	busy      bool   // the device refused frames; until Writable
	held      int    // without retransmission: spans that must go out on this rail first
	inUse     bool   // rails set

	mtu int // bytes of one frame, proven

	// Without retransmission: what the peer knows of our position in each
	// channel, and since when it is behind.
	position    [wire.Channels]Seq
	behindSince Time // Never: not behind
	announced   bool // the peer knows the newest RAILSET

	stats RailStats
}

func newSendRail(now Time, c RailConfig) *sendRail {
	r := &sendRail{RailConfig: c, inUse: true, behindSince: Never}
	r.mtu = min(c.MTU, probeBase)
	r.estimate = newEstimate(now, c.Rate, r.mtu)
	r.health = newHealth(now)
	r.probe = newProbe(now, c.MTU)
	return r
}

// payload is how many packet bytes fit a frame whose head has n bytes.
func (r *sendRail) payload(head int) int { return r.mtu - head }

// hasWindow reports whether size more bytes may be in flight. One frame always
// may, so that a window below a frame does not stop the rail.
func (r *sendRail) hasWindow(size int) bool {
	return r.ledger.inFlight == 0 || r.ledger.inFlight+size <= r.estimate.limit()
}

// hasCredit reports whether the peer's ring has room for size more bytes.
func (r *sendRail) hasCredit(size int) bool { return r.ledger.bytes+uint64(size) <= r.credit }

// expected is when a frame of size bytes would arrive, from now.
func (r *sendRail) expected(size int) Time {
	return r.queue + r.estimate.timeFor(size) + r.estimate.delay
}

// weigh works out how long the path will be busy with what is in flight.
func (r *sendRail) weigh() {
	all := r.estimate.timeFor(r.ledger.inFlight)
	r.queue = max(all-r.served, min(all, r.backlog))
}

// look prepares a burst: how long the path will still be busy, and at most has
// worked on what is in flight: since the oldest of it was sent, or since what
// was acknowledged last had passed. The first errs where the rate is wrong,
// the second where the rail had nothing to do for a while.
func (r *sendRail) look(run Time) {
	r.backlog, r.served = max(0, r.idleAt-run), 0
	if l := &r.ledger; l.len() > 0 {
		r.served = min(run-l.at(l.una).sentAt, run-r.health.progress+r.estimate.leastRTT())
	}
	r.weigh()
}

// load notes a frame sent in the burst that look prepared.
func (r *sendRail) load(run Time, size int) {
	r.backlog += r.estimate.timeFor(size)
	r.idleAt = run + r.backlog
	r.weigh()
}

// setMTU takes what a probe has proven.
func (r *sendRail) setMTU(mtu int) {
	r.mtu = mtu
	r.estimate.setFloor(mtu)
}

// wantsAck reports whether a frame of size bytes should ask for an ack.
func (r *sendRail) wantsAck(size int) bool {
	r.unflagged += size
	return r.unflagged*acksPerWindow >= r.estimate.limit()
}
