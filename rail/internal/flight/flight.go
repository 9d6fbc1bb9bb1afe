// SPDX-License-Identifier: Apache-2.0

// Package flight holds frames on their way through a simulated link: buffers
// by size, a queue in order of arrival, and an alarm as fine as the kernel's
// timers. Pool and Queue are for one goroutine at a time: their owner has a
// lock that it takes once a batch.
package flight

import "time"

// Buffer is memory for one frame.
type Buffer struct {
	Data  []byte // of the length asked for
	class int
}

// classes are the buffers' capacities: a small frame in flight must not hold
// the memory of a superpacket.
var classes = [...]int{2 << 10, 17 << 10, 68 << 10}

// Most is the longest frame, in bytes, that a Buffer takes.
const Most = 68 << 10

// freeBytes bounds what a pool keeps of each class.
const freeBytes = 16 << 20

// Pool keeps buffers for reuse. The zero value is ready.
type Pool struct {
	free [len(classes)][]*Buffer
}

// Get gives a buffer of size bytes, at most Most. Its content is what it last
// held.
func (p *Pool) Get(size int) *Buffer {
	class := 0
	for size > classes[class] {
		class++
	}
	free := p.free[class]
	if len(free) == 0 {
		return &Buffer{Data: make([]byte, size, classes[class]), class: class}
	}
	b := free[len(free)-1]
	free[len(free)-1] = nil
	p.free[class] = free[:len(free)-1]
	b.Data = b.Data[:size]
	return b
}

// Put takes a buffer back.
func (p *Pool) Put(b *Buffer) {
	if len(p.free[b.class]) < freeBytes/classes[b.class] {
		p.free[b.class] = append(p.free[b.class], b)
	}
}

// Flight is a frame and when it arrives.
type Flight struct {
	At  time.Duration
	Buf *Buffer
}

// Queue is a first-in, first-out queue without bound: who pushes bounds it.
// The zero value is ready.
type Queue struct {
	items   []Flight // a ring; the length is a power of two
	head, n int
}

// Len is how many flights wait.
func (q *Queue) Len() int { return q.n }

// First is the flight that Pop gives next. The queue must not be empty.
func (q *Queue) First() *Flight { return &q.items[q.head] }

// Push adds a flight at the end.
func (q *Queue) Push(f Flight) {
	if q.n == len(q.items) {
		q.grow()
	}
	q.items[(q.head+q.n)&(len(q.items)-1)] = f
	q.n++
}

// Pop takes the first flight. The queue must not be empty.
func (q *Queue) Pop() Flight {
	f := q.items[q.head]
	q.items[q.head].Buf = nil
	q.head = (q.head + 1) & (len(q.items) - 1)
	q.n--
	return f
}

func (q *Queue) grow() {
	items := make([]Flight, max(64, 2*len(q.items)))
	n := copy(items, q.items[q.head:])
	copy(items[n:], q.items[:q.head])
	q.items, q.head = items, 0
}
