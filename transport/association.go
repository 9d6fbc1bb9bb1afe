// SPDX-License-Identifier: Apache-2.0

package transport

// Association is one speaker's end of a pair of endpoints. Its two halves may
// be guarded by two locks; where a method needs both, the receive half's is
// taken first.
type Association struct {
	send *Sender
	recv *Receiver

	aliveAt Time // send half, running clock: when some rail was last up
	dead    bool
}

// New makes an association without rails.
func New(cfg Config, now Time) *Association {
	cfg = cfg.withDefaults()
	return &Association{send: newSender(cfg, now), recv: newReceiver(cfg, now), aliveAt: now}
}

// AddRail adds a rail; it carries data once it has answered. Both halves.
func (a *Association) AddRail(now Time, c RailConfig) error {
	if err := c.check(); err != nil {
		return err
	}
	s, r := a.send, a.recv
	if s.railSet.Has(c.ID) {
		return ErrRailID
	}
	for id := range s.railSet.All() {
		if s.rails[id].PeerID == c.PeerID {
			return ErrRailID
		}
	}
	s.rails[c.ID] = newSendRail(s.running(now), c)
	s.railSet = s.railSet.With(c.ID)
	r.rails[c.ID] = &recvRail{id: c.ID, peerID: c.PeerID, ring: uint32(c.Ring), noCRC: c.TrustLink}
	r.railIDs = r.railIDs.With(c.ID)
	s.due, r.due = min(s.due, now), min(r.due, now)
	return nil
}

// RemoveRail takes a rail away; what is in flight on it goes to the others.
// Both halves.
func (a *Association) RemoveRail(now Time, id RailID, in *Inbox) {
	s := a.send
	r := s.rails[id]
	if r == nil {
		return
	}
	r.health.enabled = false
	s.judge(now, r, in)
	s.moveAway(r)
	s.rails[id] = nil
	s.railSet = s.railSet.Without(id)
	s.membership(now)
	a.recv.rails[id] = nil
	a.recv.railIDs = a.recv.railIDs.Without(id)
}

// SetCarrier tells that a rail's device has gained or lost its carrier. Send
// half.
func (a *Association) SetCarrier(now Time, id RailID, up bool, in *Inbox) {
	if r := a.send.rails[id]; r != nil && r.health.carrier != up {
		r.health.carrier = up
		r.busy = false
		r.health.pingDue = up
		a.send.judge(now, r, in)
	}
}

// SetEnabled takes a rail up or down by the user's will. Send half.
func (a *Association) SetEnabled(now Time, id RailID, on bool, in *Inbox) {
	if r := a.send.rails[id]; r != nil && r.health.enabled != on {
		r.health.enabled = on
		r.health.pingDue = on
		a.send.judge(now, r, in)
	}
}

// SetUse chooses the rails that may carry data; the others stay alive. Send
// half.
func (a *Association) SetUse(now Time, use RailSet) {
	for id := range a.send.railSet.All() {
		a.send.rails[id].inUse = use.Has(id)
	}
	a.send.membership(now)
}

// SetWeight gives a rail a fixed share relative to the other rails with one; 0
// returns it to its measured rate. Send half.
func (a *Association) SetWeight(id RailID, weight int) {
	if r := a.send.rails[id]; r != nil {
		r.Weight, r.wrote = weight, 0
		for _, o := range a.send.active {
			o.wrote = 0
		}
	}
}

// SetMTU follows a change of a rail's MTU; a larger one is proven before it is
// used. Send half.
func (a *Association) SetMTU(now Time, id RailID, mtu int) error {
	r := a.send.rails[id]
	if r == nil {
		return ErrNoRail
	}
	c := r.RailConfig
	c.MTU = mtu
	if err := c.check(); err != nil {
		return err
	}
	r.MTU = mtu
	if r.mtu > mtu {
		r.setMTU(mtu)
	}
	r.probe = mtuProbe{size: mtu, wait: probeInterval, due: a.send.running(now)}
	a.send.due = min(a.send.due, now)
	return nil
}

// Send queues a packet; see Sender.Send. Send half.
func (a *Association) Send(p *Packet) error { return a.send.Send(p) }

// Room reports whether Send would take a packet of n bytes. Send half.
func (a *Association) Room(n int) bool { return a.send.Room(n) }

// Transmit cuts frames into b; see Sender.Transmit. Send half.
func (a *Association) Transmit(now Time, b *Burst) (more bool) { return a.send.Transmit(now, b) }

// Unsent takes back frames that a device refused; see Sender.Unsent. Send
// half.
func (a *Association) Unsent(id RailID, b *Burst, n int) { a.send.Unsent(id, b, n) }

// Writable says that a device takes frames again. Send half.
func (a *Association) Writable(id RailID) { a.send.Writable(id) }

// Receive takes one frame that came on a rail. in keeps slices of it until
// in.Reset. Receive half.
func (a *Association) Receive(now Time, id RailID, frame []byte, in *Inbox) {
	a.recv.receive(now, id, frame, in)
}

// EndReceive ends a batch of Receive: what has to be acknowledged at once goes
// into in. Receive half.
func (a *Association) EndReceive(now Time, in *Inbox) { a.recv.owe(now, in) }

// Consumed returns n bytes of a channel's window, with ManualConsume. What
// this frees is told with the next EndReceive or TickReceive. Receive half.
func (a *Association) Consumed(ch uint8, n int) { a.recv.consumed(ch, n) }

// Apply hands what a batch brought to the send half. Then Transmit. Send half.
func (a *Association) Apply(now Time, in *Inbox) { a.send.apply(now, in) }

// TickReceive does what time asks of the receive half; then TickSend with the
// same Inbox. Receive half.
func (a *Association) TickReceive(now Time, in *Inbox) {
	a.recv.tick(now, in)
	in.owed.heard = a.recv.heardHere(now)
}

// TickSend does what time asks of the send half. Then Transmit. Send half.
func (a *Association) TickSend(now Time, in *Inbox) {
	a.send.apply(now, in)
	a.send.tick(now, in)
	run := a.send.running(now)
	if a.UpRails() != 0 {
		a.aliveAt = run
	}
	if !a.dead && run-a.aliveAt >= deadAfter {
		a.dead = true
		in.Events = append(in.Events, Event{Kind: EventDead})
	}
}

// DeadlineReceive and DeadlineSend give when a tick is due next; a tick does
// both halves, at the earlier.
func (a *Association) DeadlineReceive() Time { return a.recv.due }

// DeadlineSend is the send half's part of the deadline.
func (a *Association) DeadlineSend() Time { return a.send.due }

// Close aborts every packet and returns all memory. Both halves.
func (a *Association) Close() {
	a.send.close()
	a.recv.close()
}

// SendStats gives the send half's totals. Send half.
func (a *Association) SendStats() SendStats { return a.send.snapshot() }

// ReceiveStats gives the receive half's totals. Receive half.
func (a *Association) ReceiveStats() ReceiveStats { return a.recv.snapshot() }

// RailStats tells of one rail. Both halves.
func (a *Association) RailStats(id RailID) (RailStats, bool) {
	s, r := a.send.rails[id], a.recv.rails[id]
	if s == nil {
		return RailStats{}, false
	}
	st := s.stats
	st.State, st.Reason = s.health.state, s.health.reason
	st.MTU, st.Rate, st.RTT, st.LeastRTT = s.mtu, s.estimate.rate, s.estimate.smoothed, s.estimate.leastRTT()
	st.Delay, st.Window, st.InFlight, st.Weight = s.estimate.delay, s.estimate.limit(), s.ledger.inFlight, s.Weight
	st.RxFrames, st.RxBytes, st.RxLost, st.RxReordered = r.frames, r.bytes, r.lost, r.reordered
	st.InUse = s.inUse
	return st, true
}

// Rails gives the ids of all rails. Send half.
func (a *Association) Rails() RailSet { return a.send.railSet }

// RailMTU is what a rail is proven to pass, in bytes. Send half.
func (a *Association) RailMTU(id RailID) int {
	if r := a.send.rails[id]; r != nil {
		return r.mtu
	}
	return 0
}

// UpRails gives the rails that are up. Send half.
func (a *Association) UpRails() RailSet {
	set := RailSet(0)
	for id := range a.send.railSet.All() {
		if a.send.rails[id].health.state == RailUp {
			set = set.With(id)
		}
	}
	return set
}

// LiveRails gives the rails that are up or suspect. Send half.
func (a *Association) LiveRails() RailSet {
	set := RailSet(0)
	for id := range a.send.railSet.All() {
		if s := a.send.rails[id].health.state; s == RailUp || s == RailSuspect {
			set = set.With(id)
		}
	}
	return set
}
