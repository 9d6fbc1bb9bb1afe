// SPDX-License-Identifier: Apache-2.0

package transport

// need says what a fragment asks of a rail.
type need struct {
	left    int   // packet bytes that are to go
	head    int   // bytes of its head
	channel uint8 // for FlowHash
	resent  bool  // needs no credit
}

// size is the frame that r would carry for n.
func (n need) size(r *sendRail) int { return n.head + min(n.left, r.payload(n.head)) }

// pick chooses the rail for a fragment, or nil when none can take it. The
// shortage that stopped it is counted.
func (s *Sender) pick(n need) *sendRail {
	switch s.cfg.Policy {
	case RoundRobin:
		return s.pickNext(n)
	case FlowHash:
		return s.pickHashed(n)
	}
	return s.pickShortest(n)
}

// ranking keeps when each rail would deliver a fragment, so that a burst of
// fragments of one kind asks every rail once, and then only those that it has
// loaded.
type ranking struct {
	of     need
	most   int    // frame of an active rail, bytes: nothing larger makes a difference
	times  []Time // by place among the active rails; Never: it may not carry the fragment
	loaded int    // place of the rail that was loaded since; -1: none
	valid  bool
}

// begin prepares for a burst.
func (k *ranking) begin(active []*sendRail) {
	k.valid, k.most = false, 0
	for _, r := range active {
		k.most = max(k.most, r.mtu)
	}
}

// pickShortest gives the rail with the shortest expected delivery.
func (s *Sender) pickShortest(n need) *sendRail {
	k := &s.ranking
	n.left, n.channel = min(n.left, k.most), 0
	switch {
	case !k.valid || k.of != n:
		s.rankAll(n)
	case k.loaded >= 0:
		k.times[k.loaded] = s.rank(s.active[k.loaded], n)
	}
	best, bestTime := -1, Never
	for i, t := range k.times {
		if t < bestTime {
			best, bestTime = i, t
		}
	}
	k.loaded = best
	if best < 0 {
		return nil
	}
	return s.active[best]
}

// rankAll asks every rail. Weights depend on what the others carried, so that
// rails with weights are asked each time.
func (s *Sender) rankAll(n need) {
	k := &s.ranking
	k.of, k.valid, k.times = n, true, k.times[:0]
	for _, r := range s.active {
		k.times = append(k.times, s.rank(r, n))
		k.valid = k.valid && r.Weight == 0
	}
}

// rank gives when r would deliver a fragment; Never where it may not carry it.
func (s *Sender) rank(r *sendRail, n need) Time {
	size := n.size(r)
	if !s.admits(r, n, size) {
		return Never
	}
	return r.expected(size)
}

// pickNext gives the next rail in turn that has room.
func (s *Sender) pickNext(n need) *sendRail {
	for i := range s.active {
		r := s.active[(s.turn+i)%len(s.active)]
		if s.admits(r, n, n.size(r)) {
			s.turn = (s.turn + i + 1) % len(s.active)
			return r
		}
	}
	return nil
}

// pickHashed gives the rail of the channel.
func (s *Sender) pickHashed(n need) *sendRail {
	if len(s.active) == 0 {
		return nil
	}
	if r := s.active[int(n.channel)%len(s.active)]; s.admits(r, n, n.size(r)) {
		return r
	}
	return nil
}

// admits reports whether r can take the fragment, in a frame of size bytes, now,
// and counts why not.
func (s *Sender) admits(r *sendRail, n need, size int) bool {
	switch {
	case r.busy || !r.ledger.room():
		return false
	case r.held > 0 && !n.resent:
		return false // would overtake what the device refused
	case !r.hasWindow(size):
		r.estimate.round.blocked = true
		return false
	case !n.resent && !r.hasCredit(size):
		r.stats.CreditWait++
		s.stats.CreditWait++
		return false
	}
	return r.Weight == 0 || s.weighted(r)
}

// weighted reports whether a rail with a weight is not ahead of the others
// that have one.
func (s *Sender) weighted(r *sendRail) bool {
	least := ^uint64(0)
	for _, o := range s.active {
		if o.Weight > 0 {
			least = min(least, o.wrote/uint64(o.Weight))
		}
	}
	return r.wrote/uint64(r.Weight) <= least+weightSlack
}

// refreshActive lists the rails that may carry data, by id: those in use and
// up. A rail that joins starts level with the weights of the others.
func (s *Sender) refreshActive() {
	before := s.activeSet
	s.active, s.activeSet = s.active[:0], 0
	for id := range s.railSet.All() {
		r := s.rails[id]
		if r.health.state == RailUp && r.inUse && (s.cfg.Retransmit || r.announced) {
			s.active = append(s.active, r)
			s.activeSet = s.activeSet.With(id)
		}
	}
	if s.activeSet != before {
		for _, r := range s.active {
			r.wrote = 0
		}
		s.turn = 0
	}
}
