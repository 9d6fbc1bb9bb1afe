// SPDX-License-Identifier: Apache-2.0

// Package ctlfake is a ctl.Backend in memory, for tests of what shows or
// changes a host's state. It applies changes to the ctl.Status it was given,
// by the same rules as a real backend.
package ctlfake

import (
	"context"
	"slices"
	"sync"

	"github.com/tbnet2/tbnet2/ctl"
)

// Backend is the fake. Its methods are safe for use by several goroutines.
type Backend struct {
	mu      sync.Mutex // guards what follows
	status  ctl.Status
	err     error
	bench   ctl.BenchResult
	past    []ctl.Event
	reloads int
	subs    map[chan ctl.Event]bool
}

// New makes a Backend that shows s.
func New(s ctl.Status) *Backend {
	return &Backend{status: s, subs: map[chan ctl.Event]bool{}}
}

// Fail makes all further calls return err; nil ends that.
func (b *Backend) Fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err = err
}

// Update changes the status that is shown.
func (b *Backend) Update(change func(*ctl.Status)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(&b.status)
}

// SetBench sets what Bench returns; its progress is one call for each run.
func (b *Backend) SetBench(r ctl.BenchResult) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bench = r
}

// Emit gives e to everyone in Events. It blocks while their queue of 16 is
// full.
func (b *Backend) Emit(e ctl.Event) {
	b.mu.Lock()
	b.past = append(b.past, e)
	subs := make([]chan ctl.Event, 0, len(b.subs))
	for c := range b.subs {
		subs = append(subs, c)
	}
	b.mu.Unlock()
	for _, c := range subs {
		c <- e
	}
}

// Listeners tells how many calls of Events are under way.
func (b *Backend) Listeners() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.subs)
}

// Status implements ctl.Backend.
func (b *Backend) Status(context.Context) (*ctl.Status, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return nil, b.err
	}
	return b.copy(), nil
}

// copy gives a Status whose slices are the caller's own.
func (b *Backend) copy() *ctl.Status {
	s := b.status
	s.Bonds = slices.Clone(s.Bonds)
	s.Peers = slices.Clone(s.Peers)
	s.Rails = slices.Clone(s.Rails)
	return &s
}

// Stats implements ctl.Backend.
func (b *Backend) Stats(ctx context.Context) (*ctl.Stats, error) {
	s, err := b.Status(ctx)
	if err != nil {
		return nil, err
	}
	return s.Stats(), nil
}

// SetRails implements ctl.Backend.
func (b *Backend) SetRails(_ context.Context, set ctl.RailSet) (*ctl.RailsInUse, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return nil, b.err
	}
	peers, err := b.status.Resolve(set)
	if err != nil {
		return nil, err
	}
	for _, p := range peers {
		b.use(p)
	}
	return &ctl.RailsInUse{SchemaVersion: ctl.SchemaVersion, Peers: peers}, nil
}

func (b *Backend) use(p ctl.PeerRails) {
	for i := range b.status.Rails {
		r := &b.status.Rails[i]
		if r.Peer != p.Peer && r.PeerUUID != p.Peer {
			continue
		}
		at := slices.IndexFunc(p.Rails, func(c ctl.RailChoice) bool { return c.Name == r.Name })
		if r.InUse = at >= 0; r.InUse {
			r.Weight = p.Rails[at].Weight
		}
	}
}

// SetRailUp implements ctl.Backend.
func (b *Backend) SetRailUp(_ context.Context, name string, up bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return b.err
	}
	r, ok := b.status.Rail(name)
	if !ok {
		return ctl.Errorf(ctl.CodeNotFound, "no rail %q (see `tbnetctl rails list`)", name)
	}
	r.Enabled = up
	if up {
		r.State, r.Reason = ctl.RailUp, ""
	} else {
		r.State, r.Reason = ctl.RailDown, "taken down by hand"
	}
	return nil
}

// SetBond implements ctl.Backend.
func (b *Backend) SetBond(_ context.Context, change ctl.BondChange) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return b.err
	}
	bond, ok := b.status.Bond(change.Name)
	if !ok {
		return ctl.Errorf(ctl.CodeNotFound, "no bond %q (see `tbnetctl bond show`)", change.Name)
	}
	if change.MTU != 0 {
		bond.MTU = change.MTU
	}
	bond.Addresses = append(slices.Clone(bond.Addresses), change.Addresses...)
	return nil
}

// Reload implements ctl.Reloader; it only fails or not.
func (b *Backend) Reload(context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reloads++
	return b.err
}

// Reloads tells how often Reload was called.
func (b *Backend) Reloads() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.reloads
}

// Events implements ctl.Backend.
func (b *Backend) Events(ctx context.Context, follow bool, each func(ctl.Event) error) error {
	c := make(chan ctl.Event, 16)
	b.mu.Lock()
	if b.err != nil {
		defer b.mu.Unlock()
		return b.err
	}
	past := slices.Clone(b.past)
	if follow {
		b.subs[c] = true
	}
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		delete(b.subs, c)
		b.mu.Unlock()
	}()
	for _, e := range past {
		if err := each(e); err != nil {
			return err
		}
	}
	for follow {
		select {
		case <-ctx.Done():
			return nil
		case e := <-c:
			if err := each(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// Bench implements ctl.Bencher.
func (b *Backend) Bench(_ context.Context, r ctl.BenchRequest, progress func(ctl.BenchProgress)) (*ctl.BenchResult, error) {
	b.mu.Lock()
	out, err := b.bench, b.err
	_, known := b.status.Peer(r.Peer)
	b.mu.Unlock()
	switch {
	case err != nil:
		return nil, err
	case !known:
		return nil, ctl.Errorf(ctl.CodeNotFound, "no peer %q (see `tbnetctl status`)", r.Peer)
	}
	for _, run := range out.Runs {
		if progress != nil {
			progress(ctl.BenchProgress{Direction: run.Direction, Flows: run.Flows, Seconds: run.Seconds, BPS: run.BPS})
		}
	}
	return &out, nil
}
