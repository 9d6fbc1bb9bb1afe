// SPDX-License-Identifier: Apache-2.0

package transport

// span is a range of a packet that has to be sent again.
type span struct {
	packet *Packet
	off, n int32
	rail   RailID // that it was on
}

// spans is a queue of them, oldest first. Its bound is what was in flight.
type spans struct {
	ring  []span // length a power of two
	head  uint32
	count uint32
	bytes int
}

func (q *spans) pushBack(s span) {
	q.grow()
	q.ring[(q.head+q.count)&uint32(len(q.ring)-1)] = s
	q.count++
	q.bytes += int(s.n)
}

func (q *spans) pushFront(s span) {
	q.grow()
	q.head--
	q.ring[q.head&uint32(len(q.ring)-1)] = s
	q.count++
	q.bytes += int(s.n)
}

// front gives the oldest span; the queue is not empty.
func (q *spans) front() *span { return &q.ring[q.head&uint32(len(q.ring)-1)] }

// take removes n bytes of the oldest span, and the span with its last ones.
func (q *spans) take(n int32) {
	s := q.front()
	s.off += n
	s.n -= n
	q.bytes -= int(n)
	if s.n == 0 {
		*s = span{}
		q.head++
		q.count--
	}
}

func (q *spans) grow() {
	if int(q.count) < len(q.ring) {
		return
	}
	grown := make([]span, max(64, 2*len(q.ring)))
	for i := range q.count {
		grown[i] = q.ring[(q.head+i)&uint32(len(q.ring)-1)]
	}
	q.ring, q.head = grown, 0
}
