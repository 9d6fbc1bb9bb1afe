// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"sync"
	"time"
)

// eventsKept is how many events a slow subscriber may be behind.
const eventsKept = 256

// Event is a change worth telling.
type Event struct {
	Time   time.Time `json:"time"`
	Kind   string    `json:"kind"` // peer_up, peer_down, rail, rail_mtu, rails_set, mismatch
	Peer   string    `json:"peer,omitempty"`
	Rail   string    `json:"rail,omitempty"`
	State  string    `json:"state,omitempty"`
	Reason string    `json:"reason,omitempty"`
	MTU    int       `json:"mtu,omitempty"` // bytes
}

// events passes events to subscribers.
type events struct {
	mu     sync.Mutex // guards what follows
	subs   map[chan Event]struct{}
	missed uint64
	closed bool
}

// Subscribe gives events from now on. One that does not read fast enough
// misses some (Status counts them); the channel is closed by cancel or Close.
func (f *Fabric) Subscribe() (<-chan Event, func()) {
	e := &f.events
	c := make(chan Event, eventsKept)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		close(c)
		return c, func() {}
	}
	if e.subs == nil {
		e.subs = map[chan Event]struct{}{}
	}
	e.subs[c] = struct{}{}
	return c, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if _, ok := e.subs[c]; ok {
			delete(e.subs, c)
			close(c)
		}
	}
}

// emit passes one event on; it never blocks.
func (f *Fabric) emit(ev Event) {
	ev.Time = time.Now()
	e := &f.events
	e.mu.Lock()
	defer e.mu.Unlock()
	for c := range e.subs {
		select {
		case c <- ev:
		default:
			e.missed++
		}
	}
}

// missedSoFar is how many events found a subscriber's channel full.
func (e *events) missedSoFar() uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.missed
}

func (e *events) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	for c := range e.subs {
		delete(e.subs, c)
		close(c)
	}
}
