// SPDX-License-Identifier: Apache-2.0

package mem

import (
	"sync"
	"time"

	"github.com/tbnet2/tbnet2/rail"
	"github.com/tbnet2/tbnet2/rail/model"
)

// spinBelow is how near an arrival must be to be taken as come: timers are no
// finer.
const spinBelow = 20 * time.Microsecond

// flight is a frame on its way.
type flight struct {
	at   time.Duration
	from rail.MAC
	buf  *[]byte
}

// line is one direction: frames leave the model with a time of arrival, and a
// goroutine hands them over when it has come.
type line struct {
	link  *Link
	model *model.Link // guarded by link.guard
	to    *Device

	mu     sync.Mutex // guards what follows
	queue  []flight   // by time of arrival, from first
	first  int
	run    bool // the goroutine is alive
	closed bool
	wake   chan struct{}
	done   sync.WaitGroup
}

func newLine(l *Link, m *model.Link, to *Device) *line {
	return &line{link: l, model: m, to: to, wake: make(chan struct{}, 1)}
}

// send passes one frame to the model. now is the link's time.
func (l *line) send(now time.Duration, from rail.MAC, f *rail.TxFrame, size int) {
	l.link.guard.Lock()
	fate := l.model.Offer(now, size)
	l.link.guard.Unlock()
	if fate.Drop != model.Kept {
		return
	}
	for range fate.Copies {
		buf := join(f, size)
		if fate.Flip >= 0 {
			(*buf)[fate.Flip/8] ^= 1 << (fate.Flip % 8)
		}
		if fate.At <= now+spinBelow && l.idle() {
			l.to.arrive(from, buf)
			continue
		}
		l.push(flight{fate.At, from, buf})
	}
}

// idle reports whether nothing is on its way.
func (l *line) idle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.first == len(l.queue) && !l.run
}

func (l *line) push(f flight) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		recycle(f.buf)
		return
	}
	l.queue = append(l.queue, f)
	if !l.run {
		l.run = true
		l.done.Add(1)
		go l.deliver()
	}
}

// deliver hands frames over as their time comes, and ends when there are none.
func (l *line) deliver() {
	defer l.done.Done()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		f, wait, ok := l.next()
		switch {
		case !ok:
			return
		case wait <= 0:
			l.to.arrive(f.from, f.buf)
		default:
			timer.Reset(wait)
			select {
			case <-timer.C:
			case <-l.wake:
			}
		}
	}
}

// next takes the first frame if its time has come, or tells how long to wait;
// false when there is none.
func (l *line) next() (f flight, wait time.Duration, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.first == len(l.queue) {
		l.queue, l.first, l.run = l.queue[:0], 0, false
		return f, 0, false
	}
	f = l.queue[l.first]
	if wait = f.at - l.link.now(); wait > spinBelow {
		return f, wait, true
	}
	l.queue[l.first] = flight{}
	l.first++
	if l.first > 1024 && l.first > len(l.queue)/2 {
		l.queue = append(l.queue[:0], l.queue[l.first:]...)
		l.first = 0
	}
	return f, 0, true
}

// flush loses all that is on its way.
func (l *line) flush() {
	l.mu.Lock()
	for _, f := range l.queue[l.first:] {
		recycle(f.buf)
	}
	l.queue, l.first = l.queue[:0], 0
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// close ends the goroutine.
func (l *line) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.flush()
	l.done.Wait()
}

// buffers hold frames on their way.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 1<<16); return &b }}

func recycle(b *[]byte) { buffers.Put(b) }

// join lays a frame out in a buffer.
func join(f *rail.TxFrame, size int) *[]byte {
	buf := buffers.Get().(*[]byte)
	b := append((*buf)[:0], f.Head...)
	for _, part := range f.Body {
		b = append(b, part...)
	}
	*buf = b[:size]
	return buf
}
