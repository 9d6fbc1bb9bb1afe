// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/tbnet2/tbnet2/rail"
	"github.com/tbnet2/tbnet2/rail/mem"
	"github.com/tbnet2/tbnet2/rail/model"
)

// memLink is a rail in memory whose ends may be opened again. A mem device is
// closed for good; so when an end is opened again, the whole link is made anew
// and the other end, if open, goes on with it, as if nothing but the frames on
// their way had been lost. The lab's mutex guards it.
type memLink struct {
	link  *link
	group *linkGroup
	seed  uint64
	now   *mem.Link
	ends  [2]*memRail     // nil: never opened
	past  [2]model.Counts // of links before now
}

// renew makes the link, or makes it anew.
func (m *memLink) renew() error {
	k := m.link
	fresh, err := mem.New(mem.Config{
		Name: k.name, MTU: max(k.ends[0].mtu, k.ends[1].mtu), Group: k.groupID(), Seed: m.seed,
		Params: k.states[0].params(), Shapers: &m.group.shapers, Guard: &m.group.guard, Start: m.group.start,
		MACs: [2]rail.MAC{k.ends[0].mac, k.ends[1].mac},
	})
	if err != nil {
		return err
	}
	if err := fresh.Set(1, k.states[1].params()); err != nil {
		return err
	}
	for side := range k.ends {
		fresh.SetMTU(side, k.ends[side].mtu)
	}
	fresh.Plug(k.up)
	old := m.now
	if old != nil {
		for side := range m.past {
			m.past[side] = addCounts(m.past[side], old.Counts(side))
		}
	}
	m.now, m.seed = fresh, m.seed+1
	for side, r := range m.ends {
		if r != nil {
			r.use(device(fresh, side))
		}
	}
	if old == nil {
		return nil
	}
	return errors.Join(old.A().Close(), old.B().Close())
}

func device(l *mem.Link, side int) *mem.Device {
	if side == 0 {
		return l.A()
	}
	return l.B()
}

// open gives an end that is not open now.
func (m *memLink) open(e *end) (rail.Device, error) {
	last := m.ends[e.side]
	if last != nil && !last.closed.Load() {
		return nil, fmt.Errorf("rail %s is open already; in memory a rail has one user", e.dev)
	}
	m.ends[e.side] = nil
	if last != nil {
		if err := m.renew(); err != nil {
			return nil, err
		}
	}
	r := &memRail{name: e.dev, changed: make(chan struct{}, 1)}
	r.dev.Store(device(m.now, e.side))
	m.ends[e.side] = r
	return r, nil
}

// tell has both ends' users look at Info again.
func (m *memLink) tell() {
	for _, r := range m.ends {
		if r != nil {
			r.tell()
		}
	}
}

func (m *memLink) counts() (out [2]Counts) {
	for side := range out {
		out[side] = countsOf(addCounts(m.past[side], m.now.Counts(side)), 0)
	}
	return out
}

func (m *memLink) closeNow() error {
	for _, r := range m.ends {
		if r != nil {
			r.closed.Store(true)
		}
	}
	return errors.Join(m.now.A().Close(), m.now.B().Close())
}

func addCounts(a, b model.Counts) model.Counts {
	a.Frames += b.Frames
	a.Bytes += b.Bytes
	a.Lost += b.Lost
	a.Discarded += b.Discarded
	a.QueueFull += b.QueueFull
	a.Corrupted += b.Corrupted
	a.Duplicated += b.Duplicated
	a.DuplicateBytes += b.DuplicateBytes
	return a
}

// memRail is an open end: the device of its link as it is now.
type memRail struct {
	name    string
	dev     atomic.Pointer[mem.Device]
	closed  atomic.Bool
	changed chan struct{}

	mu   sync.Mutex // guards what follows
	past rail.Stats // of devices before
}

// use goes on with another device; the one before is closed after it.
func (r *memRail) use(d *mem.Device) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.past = addStats(r.past, r.dev.Load().Stats())
	r.dev.Store(d)
	if r.closed.Load() {
		_ = d.Close() // never fails
	}
}

// Info implements rail.Device.
func (r *memRail) Info() rail.Info {
	info := r.dev.Load().Info()
	info.Name = r.name
	return info
}

// renewed reports whether an error comes from a device that was replaced.
func (r *memRail) renewed(d *mem.Device, err error) bool {
	return errors.Is(err, rail.ErrClosed) && !r.closed.Load() && r.dev.Load() != d
}

// Send implements rail.Device.
func (r *memRail) Send(frames []rail.TxFrame) (n int, err error) {
	for {
		d := r.dev.Load()
		k, err := d.Send(frames[n:])
		n += k
		if !r.renewed(d, err) {
			return n, err
		}
	}
}

// WaitSend implements rail.Device.
func (r *memRail) WaitSend() error {
	for {
		d := r.dev.Load()
		if err := d.WaitSend(); !r.renewed(d, err) {
			return err
		}
	}
}

// Recv implements rail.Device.
func (r *memRail) Recv(frames []rail.RxFrame) (n int, err error) {
	for {
		d := r.dev.Load()
		if n, err = d.Recv(frames); !r.renewed(d, err) {
			return n, err
		}
	}
}

// Changed implements rail.Device.
func (r *memRail) Changed() <-chan struct{} { return r.changed }

func (r *memRail) tell() {
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// Stats implements rail.Device.
func (r *memRail) Stats() rail.Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return addStats(r.past, r.dev.Load().Stats())
}

// Close implements rail.Device.
func (r *memRail) Close() error {
	r.closed.Store(true)
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dev.Load().Close()
}

func addStats(a, b rail.Stats) rail.Stats {
	a.TxFrames += b.TxFrames
	a.TxBytes += b.TxBytes
	a.TxBusy += b.TxBusy
	a.TxErrors += b.TxErrors
	a.RxFrames += b.RxFrames
	a.RxBytes += b.RxBytes
	a.RxDropped += b.RxDropped
	a.RxErrors += b.RxErrors
	return a
}
