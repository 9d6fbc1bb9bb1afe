// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"fmt"
	"sync"
	"time"

	"github.com/tbnet2/tbnet2/rail"
	"github.com/tbnet2/tbnet2/rail/model"
)

// Config says which devices a relay joins.
type Config struct {
	NetNS int    // an open network namespace, 0: the calling thread's
	A, B  string // interfaces in it
	Seed  uint64
	// Params of both directions; Set changes them one by one.
	Params model.Params
	// Shapers, Guard and Start, if set, are common to the rails of a cable, as
	// in package mem: [0] from A to B, [1] back.
	Shapers *[2]model.Shaper
	Guard   *sync.Mutex
	Start   time.Time
}

// Relay passes frames until Close.
type Relay struct {
	guard *sync.Mutex // guards both directions' models
	start time.Time
	lines [2]*line // [0] from A to B
	done  sync.WaitGroup
	once  sync.Once
}

// New starts a relay. The calling thread's namespace is unchanged after it.
func New(c Config) (*Relay, error) {
	if err := c.Params.Check(); err != nil {
		return nil, err
	}
	r := &Relay{guard: c.Guard, start: c.Start}
	if r.guard == nil {
		r.guard = new(sync.Mutex)
	}
	if r.start.IsZero() {
		r.start = time.Now()
	}
	var ports [2]*port
	for i, name := range []string{c.A, c.B} {
		p, err := openPort(c.NetNS, name)
		if err != nil {
			for _, open := range ports[:i] {
				open.close()
			}
			return nil, &rail.OpError{Op: "relay", Device: name, Err: err}
		}
		ports[i] = p
	}
	for i := range r.lines {
		var s *model.Shaper
		if c.Shapers != nil {
			s = &c.Shapers[i]
		}
		r.lines[i] = newLine(r, model.NewLink(c.Params, c.Seed<<1|uint64(i), s), ports[i], ports[1-i])
		r.done.Add(2)
		go r.lines[i].read(&r.done)
		go r.lines[i].write(&r.done)
	}
	return r, nil
}

func (r *Relay) now() time.Duration { return time.Since(r.start) }

// Params gives the knobs of the direction from A to B (0) or back (1).
func (r *Relay) Params(direction int) model.Params {
	r.guard.Lock()
	defer r.guard.Unlock()
	return r.lines[direction].model.Params()
}

// Set changes the knobs of one direction.
func (r *Relay) Set(direction int, p model.Params) error {
	r.guard.Lock()
	defer r.guard.Unlock()
	if err := r.lines[direction].model.Set(p); err != nil {
		return fmt.Errorf("relay: %w", err)
	}
	return nil
}

// Stall stops a direction for a while.
func (r *Relay) Stall(direction int, d time.Duration) {
	r.guard.Lock()
	defer r.guard.Unlock()
	r.lines[direction].model.Stall(r.now() + d)
}

// Counts gives a direction's totals.
func (r *Relay) Counts(direction int) model.Counts {
	r.guard.Lock()
	defer r.guard.Unlock()
	return r.lines[direction].model.Counts()
}

// Unsent counts frames that a device did not take (it was down, or the frame
// longer than its MTU), in one direction.
func (r *Relay) Unsent(direction int) uint64 { return r.lines[direction].unsent.Load() }

// Missed counts frames that the relay was too slow for, in one direction: they
// are in no other count.
func (r *Relay) Missed(direction int) uint64 { return r.lines[direction].from.lost() }

// Close ends the relay; what is on its way is lost.
func (r *Relay) Close() error {
	r.once.Do(func() {
		for _, l := range r.lines {
			l.stop()
		}
		r.done.Wait()
		for _, l := range r.lines {
			l.from.close()
		}
	})
	return nil
}
