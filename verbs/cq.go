// SPDX-License-Identifier: Apache-2.0

package verbs

// CQ is a completion queue.
type CQ struct {
	device *Device
	ring   []WC // guarded by device.mu, as all that follows
	first  int
	count  int
	armed  arming
	broken bool // it has overrun
	users  int
	notify chan struct{}
}

// arming says what completion rings next.
type arming uint8

const (
	armedNot arming = iota
	armedSolicited
	armedAny
)

// CreateCQ makes a queue of entries completions.
func (d *Device) CreateCQ(entries int) (*CQ, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return nil, ErrClosed
	case entries < 1 || entries > d.limits.Entries:
		return nil, ErrInvalid
	case d.cqs >= d.limits.CQs:
		return nil, ErrQuota
	}
	d.cqs++
	return &CQ{device: d, ring: make([]WC, entries), notify: make(chan struct{}, 1)}, nil
}

// Poll takes up to len(out) completions, oldest first, and tells how many.
func (c *CQ) Poll(out []WC) int {
	c.device.mu.Lock()
	defer c.device.mu.Unlock()
	n := min(len(out), c.count)
	for i := range n {
		out[i] = c.ring[c.first]
		c.first = (c.first + 1) % len(c.ring)
	}
	c.count -= n
	return n
}

// Arm asks for one notification: at the next completion, or at the next that is
// solicited or an error. What is there already does not count: poll after it.
func (c *CQ) Arm(solicitedOnly bool) {
	c.device.mu.Lock()
	defer c.device.mu.Unlock()
	want := armedAny
	if solicitedOnly {
		want = armedSolicited
	}
	c.armed = max(c.armed, want)
}

// Notify fires after Arm.
func (c *CQ) Notify() <-chan struct{} { return c.notify }

// Destroy ends the queue; ErrBusy while queue pairs use it.
func (c *CQ) Destroy() error {
	c.device.mu.Lock()
	defer c.device.mu.Unlock()
	if c.users > 0 {
		return ErrBusy
	}
	c.device.cqs--
	return nil
}

// push adds a completion. Beyond the last entry the queue is broken, and the
// queue pairs that complete to it with it. mu is held.
func (c *CQ) push(w WC, solicited bool) {
	if c.broken {
		return
	}
	if c.count == len(c.ring) {
		c.broken = true
		c.device.emit(Event{Kind: EventCQError, CQ: c})
		for _, q := range c.device.qps {
			if q.sendCQ == c || q.recvCQ == c {
				q.fatal(EventQPFatal)
			}
		}
		return
	}
	c.ring[(c.first+c.count)%len(c.ring)] = w
	c.count++
	if c.armed == armedAny || c.armed == armedSolicited && (solicited || w.Status != Success) {
		c.armed = armedNot
		select {
		case c.notify <- struct{}{}:
		default:
		}
	}
}
