// SPDX-License-Identifier: Apache-2.0

package verbs

// recvWQE is a posted receive.
type recvWQE struct {
	id  uint64
	sge []SGE
}

// recvQueue is receives in the order they were posted.
type recvQueue struct {
	list []recvWQE
	most int
	sges int
}

func (r *recvQueue) post(d *Device, w RecvWR) error {
	if len(w.SGE) > r.sges {
		return ErrInvalid
	}
	if len(r.list) >= r.most {
		return ErrFull
	}
	r.list = append(r.list, recvWQE{id: w.ID, sge: clone(w.SGE)})
	return nil
}

func (r *recvQueue) take() (recvWQE, bool) {
	if len(r.list) == 0 {
		return recvWQE{}, false
	}
	w := r.list[0]
	r.list = r.list[1:]
	return w, true
}

// SRQ is a receive queue that queue pairs share.
type SRQ struct {
	pd    *PD
	queue recvQueue // guarded by device.mu, as what follows
	limit int
	users int
}

// CreateSRQ makes a shared receive queue of up to wrs receives.
func (p *PD) CreateSRQ(wrs, sges int) (*SRQ, error) {
	d := p.device
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, ErrClosed
	}
	if wrs < 1 || wrs > d.limits.WRs || sges < 0 || sges > d.limits.SGEs {
		return nil, ErrInvalid
	}
	p.users++
	return &SRQ{pd: p, queue: recvQueue{most: wrs, sges: max(1, sges)}}, nil
}

// PostRecv adds a receive.
func (s *SRQ) PostRecv(w RecvWR) error {
	s.pd.device.mu.Lock()
	defer s.pd.device.mu.Unlock()
	return s.queue.post(s.pd.device, w)
}

// SetLimit asks for one EventSRQLimit when fewer than n receives are left.
func (s *SRQ) SetLimit(n int) error {
	s.pd.device.mu.Lock()
	defer s.pd.device.mu.Unlock()
	if n < 0 || n > s.queue.most {
		return ErrInvalid
	}
	s.limit = n
	s.watch()
	return nil
}

// watch tells when the limit is reached. mu is held.
func (s *SRQ) watch() {
	if len(s.queue.list) < s.limit {
		s.limit = 0
		s.pd.device.emit(Event{Kind: EventSRQLimit, SRQ: s})
	}
}

// Destroy ends the queue; ErrBusy while queue pairs use it.
func (s *SRQ) Destroy() error {
	s.pd.device.mu.Lock()
	defer s.pd.device.mu.Unlock()
	if s.users > 0 {
		return ErrBusy
	}
	s.pd.users--
	return nil
}
