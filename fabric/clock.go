// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/tbnet2/tbnet2/transport"
)

// clock lets one goroutine sleep until a deadline that others may bring
// forward.
type clock struct {
	armed atomic.Int64 // what it sleeps for
	kick  chan struct{}
	quit  chan struct{}
	once  sync.Once
}

func newClock() clock { return clock{kick: make(chan struct{}, 1), quit: make(chan struct{})} }

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

// run calls tick whenever the deadline that it gave last has come, or it is
// woken, until stop.
func (c *clock) run(now func() transport.Time, tick func() transport.Time) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		c.armed.Store(int64(transport.Never)) // what comes due while tick runs wakes
		next := tick()
		c.armed.Store(int64(next))
		timer.Reset(max(0, time.Duration(next-now())))
		select {
		case <-timer.C:
		case <-c.kick:
		case <-c.quit:
			return
		}
	}
}
