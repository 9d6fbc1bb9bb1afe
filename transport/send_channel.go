// SPDX-License-Identifier: Apache-2.0

package transport

// sending is the sender's state inside a Packet.
type sending struct {
	number    Seq
	total     int32 // length in bytes
	cut       int32 // bytes sent or queued to be sent again
	refs      int32 // ledger entries and spans that name the packet
	givenUp   bool
	displaced bool // some of it was lost, or sent in vain
	outcome   Outcome
	firstSent Time // by the usable clock
	next      *Packet
}

// sendChannel is one sequence space, seen by the sender.
type sendChannel struct {
	head, tail *Packet // not cut to the end yet, oldest first
	next       Seq     // number of the next packet to be begun
	acked      Seq     // every packet before it is done with, by the peer's word
	bytes      uint64  // of packets begun
	limit      uint64  // bytes may grow to this
	open       []*Packet
	starts     []uint64 // of packets [acked, next): bytes before them
	deficit    int
	skip       Seq // packets before it are given up
	skipAt     Time
	waiting    bool // wanted to begin a packet and had no window
}

// slot gives a packet number's place in open and starts.
func (c *sendChannel) slot(s Seq) int { return int(s) & (len(c.open) - 1) }

// startOf gives the bytes begun before packet s, which is in [acked, next].
func (c *sendChannel) startOf(s Seq) uint64 {
	if s == c.next {
		return c.bytes
	}
	return c.starts[c.slot(s)]
}

// mayBegin reports whether the window lets packet p begin.
func (c *sendChannel) mayBegin(p *Packet) bool {
	return int(c.next.Sub(c.acked)) < len(c.open) && (c.bytes+uint64(p.total) <= c.limit || sabotageWindow)
}

// begin gives p its number. mayBegin was true.
func (c *sendChannel) begin(now Time, p *Packet) {
	p.number = c.next
	p.firstSent = now
	c.open[c.slot(c.next)] = p
	c.starts[c.slot(c.next)] = c.bytes
	c.bytes += uint64(p.total)
	c.next++
}

// push queues p for its first sending.
func (c *sendChannel) push(p *Packet) {
	if c.tail == nil {
		c.head = p
	} else {
		c.tail.next = p
	}
	c.tail = p
}

// pop takes the head off.
func (c *sendChannel) pop() {
	p := c.head
	c.head, p.next = p.next, nil
	if c.head == nil {
		c.tail = nil
	}
}

// close forgets an open packet that is done with.
func (c *sendChannel) close(p *Packet) {
	if i := c.slot(p.number); c.open != nil && c.open[i] == p {
		c.open[i] = nil
	}
}
