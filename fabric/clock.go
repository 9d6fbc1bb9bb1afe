// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/tbnet2/tbnet2/transport"
)

// clock lets one goroutine sleep until the earliest deadline.
type clock struct {
	armed atomic.Int64 // what it sleeps for
	kick  chan struct{}
	quit  chan struct{}
	once  sync.Once
}

func (c *clock) init() { c.kick, c.quit = make(chan struct{}, 1), make(chan struct{}) }

// wake has the deadlines looked at again now.
func (c *clock) wake() {
	select {
	case c.kick <- struct{}{}:
	default:
	}
}

// due brings the alarm forward if it is set for later.
func (c *clock) due(t transport.Time) {
	if int64(t) < c.armed.Load() {
		c.wake()
	}
}

func (c *clock) stop() { c.once.Do(func() { close(c.quit) }) }

// keepTime ticks what is due until the fabric closes.
func (f *Fabric) keepTime() {
	defer f.done.Done()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		next := f.tick()
		f.clock.armed.Store(int64(next))
		timer.Reset(max(0, time.Duration(next-f.now())))
		select {
		case <-timer.C:
		case <-f.clock.kick:
		case <-f.clock.quit:
			return
		}
	}
}

// tick does what is due and gives the next deadline.
func (f *Fabric) tick() transport.Time {
	f.mu.Lock()
	now := f.now()
	next := now + transport.Second
	if !f.closed {
		f.acts = f.handshake.Tick(now, f.acts)
		f.act()
		next = min(next, f.handshake.Deadline())
	}
	peers := make([]*peer, 0, len(f.peers))
	for _, p := range f.peers {
		peers = append(peers, p)
	}
	f.mu.Unlock()
	for _, p := range peers {
		next = min(next, p.tick())
	}
	return next
}
