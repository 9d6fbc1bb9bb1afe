// SPDX-License-Identifier: Apache-2.0

// Package mem joins two rail devices by a link in memory, with the seeded link
// model of package model in each direction. Figures measured over it are
// simulated.
package mem

import (
	"fmt"
	"sync"
	"time"

	"github.com/tbnet2/tbnet2/rail"
	"github.com/tbnet2/tbnet2/rail/model"
)

// Config says what a link is like.
type Config struct {
	Name string // of the devices: Name+"a" and Name+"b"
	MTU  int    // bytes, 0: 65535
	Ring int    // receive ring in bytes, 0: RingDefault
	// TxRing is how many bytes may wait in front of the rate before Send
	// answers ErrAgain; 0: Send takes everything, and what the queue of Params
	// cannot hold is lost.
	TxRing int
	Rate   uint64 // bits per second that Info tells, 0: that of Params
	Group  uint64
	Seed   uint64
	// Params of both directions; Set changes them one by one.
	Params model.Params
	// Shapers, if set, are shared with the other links of a cable: [0] from a
	// to b, [1] back.
	Shapers *[2]model.Shaper
	// Guard, if set, replaces the link's lock: links with common Shapers have
	// a common Guard.
	Guard *sync.Mutex
	// Start, if set, is where the link's time begins: links with common
	// Shapers have a common Start.
	Start time.Time
	MACs  [2]rail.MAC // zero: made from Seed and Group
}

// RingDefault is the receive ring of a device, in bytes.
const RingDefault = 16 << 20

// Link is two devices and what is on its way between them. It runs nothing by
// itself; the devices must be closed.
type Link struct {
	start  time.Time
	macs   [2]rail.MAC
	txRing int
	ends   [2]*Device
	guard  *sync.Mutex    // guards the models
	models [2]*model.Link // models[i] is the way from ends[i]
}

// New makes a link whose devices have carrier.
func New(c Config) (*Link, error) {
	if err := c.Params.Check(); err != nil {
		return nil, err
	}
	if c.MTU == 0 {
		c.MTU = 65535
	}
	if c.MTU < 64 || c.MTU > 65535 {
		return nil, fmt.Errorf("mem: MTU %d is not from 64 to 65535 bytes", c.MTU)
	}
	if c.Ring < 0 || c.TxRing < 0 {
		return nil, fmt.Errorf("mem: a ring of %d B, or one to send of %d B, is negative", c.Ring, c.TxRing)
	}
	if c.Ring == 0 {
		c.Ring = RingDefault
	}
	if c.Rate == 0 {
		c.Rate = c.Params.Rate
	}
	return newLink(c), nil
}

// newLink makes a link of a complete configuration.
func newLink(c Config) *Link {
	l := &Link{guard: c.Guard, start: c.Start, txRing: c.TxRing}
	if l.start.IsZero() {
		l.start = time.Now()
	}
	if l.guard == nil {
		l.guard = new(sync.Mutex)
	}
	for i, suffix := range []string{"a", "b"} {
		l.macs[i] = c.MACs[i]
		if l.macs[i] == (rail.MAC{}) {
			l.macs[i] = rail.MAC{0x02, byte(c.Seed >> 16), byte(c.Seed >> 8), byte(c.Seed), byte(c.Group), byte(i)}
		}
		l.ends[i] = newDevice(l, i, rail.Info{Name: c.Name + suffix, MAC: l.macs[i], MTU: c.MTU, Rate: c.Rate,
			Group: c.Group, Carrier: true, Ring: c.Ring})
		var s *model.Shaper
		if c.Shapers != nil {
			s = &c.Shapers[i]
		}
		l.models[i] = model.NewLink(c.Params, c.Seed<<1|uint64(i), s)
	}
	return l
}

// A and B are the ends.
func (l *Link) A() *Device { return l.ends[0] }

// B is the other end.
func (l *Link) B() *Device { return l.ends[1] }

// Params gives the knobs of the direction from A to B (0) or back (1).
func (l *Link) Params(direction int) model.Params {
	l.guard.Lock()
	defer l.guard.Unlock()
	return l.models[direction].Params()
}

// Set changes the knobs of one direction.
func (l *Link) Set(direction int, p model.Params) error {
	l.guard.Lock()
	defer l.guard.Unlock()
	return l.models[direction].Set(p)
}

// Stall stops a direction for a while.
func (l *Link) Stall(direction int, d time.Duration) {
	l.guard.Lock()
	defer l.guard.Unlock()
	now := l.now()
	l.models[direction].Stall(now + d)
	l.ends[1-direction].in.stall(now, now+d)
}

// Counts gives a direction's totals.
func (l *Link) Counts(direction int) model.Counts {
	l.guard.Lock()
	defer l.guard.Unlock()
	return l.models[direction].Counts()
}

// Plug gives or takes the carrier of both ends. Frames on their way are lost
// when it goes, and counted.
func (l *Link) Plug(in bool) {
	l.guard.Lock()
	for i, m := range l.models {
		m.Unplug(l.ends[1-i].in.plug(l.now(), in))
	}
	l.guard.Unlock()
	for i := range l.ends {
		l.ends[i].setCarrier(in)
	}
}

// SetMTU changes the MTU of one end (0: A, 1: B): what it sends and takes.
func (l *Link) SetMTU(end, mtu int) { l.ends[end].setMTU(mtu) }

// now is the link's time.
func (l *Link) now() time.Duration { return time.Since(l.start) }

// untilRoom is how long it takes until half of a sender's ring is free.
func (l *Link) untilRoom(side int) time.Duration {
	if l.txRing == 0 {
		return 0
	}
	l.guard.Lock()
	defer l.guard.Unlock()
	return l.models[side].Drained(l.txRing/2) - l.now()
}

// reaches reports whether the other end takes frames to an address.
func (l *Link) reaches(side int, to rail.MAC) bool { return to == l.macs[1-side] || to[0]&1 != 0 }
