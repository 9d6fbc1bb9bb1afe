// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/tbnet2/tbnet2/rail/internal/flight"
	"github.com/tbnet2/tbnet2/rail/model"
)

// dueWithin is how near an arrival must be to be taken as come: timers are no
// finer.
const dueWithin = 50 * time.Microsecond

// passage is a frame on its way.
type passage struct {
	at  time.Duration
	buf *buffer
}

// line is one direction.
type line struct {
	relay    *Relay
	model    *model.Link // guarded by relay.guard
	from, to *port
	unsent   atomic.Uint64

	mu    sync.Mutex // guards queue
	queue []passage  // in order of arrival
	wake  chan struct{}
	quit  chan struct{}
}

func newLine(r *Relay, m *model.Link, from, to *port) *line {
	return &line{relay: r, model: m, from: from, to: to, wake: make(chan struct{}, 1), quit: make(chan struct{})}
}

func (l *line) stop() {
	close(l.quit)
	l.rouse()
	l.from.interrupt()
}

// read takes frames from one device and gives them to the model.
func (l *line) read(done *sync.WaitGroup) {
	defer done.Done()
	bufs := make([]*buffer, batch)
	for {
		n, ok := l.from.recv(bufs)
		if !ok {
			return
		}
		l.offer(bufs[:n])
	}
}

// offer passes a batch to the model and queues what is not lost. It takes the
// buffers.
func (l *line) offer(bufs []*buffer) {
	now := l.relay.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	idle := len(l.queue) == 0
	l.relay.guard.Lock()
	for i, b := range bufs {
		bufs[i] = nil
		fate := l.model.Offer(now, b.payload())
		if fate.Drop != model.Kept {
			b.recycle()
			continue
		}
		for range fate.Copies - 1 {
			l.queue = append(l.queue, passage{fate.At, b.clone()})
		}
		if fate.Flip >= 0 {
			b.flip(fate.Flip)
		}
		l.queue = append(l.queue, passage{fate.At, b})
	}
	l.relay.guard.Unlock()
	if idle && len(l.queue) > 0 {
		l.rouse()
	}
}

// rouse has the writer look again.
func (l *line) rouse() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// write sends frames as their time comes.
func (l *line) write(done *sync.WaitGroup) {
	defer done.Done()
	var alarm flight.Alarm
	defer alarm.Close()
	due := make([]*buffer, 0, batch)
	for {
		select {
		case <-l.quit:
			return
		default:
		}
		var wait time.Duration
		due, wait = l.take(due[:0])
		if len(due) > 0 {
			l.unsent.Add(uint64(l.to.send(due)))
			continue
		}
		alarm.Wait(wait, l.wake)
	}
}

// take moves the frames whose time has come to due, or tells how long to wait.
func (l *line) take(due []*buffer) ([]*buffer, time.Duration) {
	now := l.relay.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for n < len(l.queue) && n < batch && l.queue[n].at <= now+dueWithin {
		due = append(due, l.queue[n].buf)
		n++
	}
	if n > 0 {
		left := copy(l.queue, l.queue[n:])
		clear(l.queue[left:])
		l.queue = l.queue[:left]
		return due, 0
	}
	if len(l.queue) == 0 {
		return due, flight.Forever
	}
	return due, l.queue[0].at - now
}
