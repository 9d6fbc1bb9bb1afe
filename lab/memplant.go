// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tbnet2/tbnet2/rail"
)

// memPlant is a lab in memory: hosts are names, rails are rail/mem.
type memPlant struct {
	links map[*link]*memLink
}

func newMemPlant() *memPlant { return &memPlant{links: map[*link]*memLink{}} }

func (p *memPlant) build(_ context.Context, l *Lab) error {
	if len(l.topo.Segments) > 0 {
		return fmt.Errorf("segment %s: %w: %s has no switches; use cables, or namespaces", l.topo.Segments[0].Name, ErrMode, ModeMemory)
	}
	groups := map[string]*linkGroup{}
	for _, k := range l.links {
		g := groups[k.group]
		if g == nil {
			g = &linkGroup{start: time.Now()}
			groups[k.group] = g
		}
		m := &memLink{link: k, group: g, seed: l.seed(k)}
		if err := m.renew(); err != nil {
			return fmt.Errorf("rail %s: %w", k.name, err)
		}
		p.links[k] = m
	}
	for _, n := range l.nodes {
		n.open = func(e *end, _ uint8) (rail.Device, error) {
			l.mu.Lock()
			defer l.mu.Unlock()
			if l.closed {
				return nil, ErrClosed
			}
			return p.links[e.link].open(e)
		}
	}
	return nil
}

func (p *memPlant) carrier(k *link, up bool) error {
	m := p.links[k]
	m.now.Plug(up)
	m.tell()
	return nil
}

func (p *memPlant) apply(_ *Lab, links []*link) error {
	for _, k := range links {
		for side, s := range k.states {
			if err := p.links[k].now.Set(side, s.params()); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *memPlant) stall(k *link, side int, d Time) { p.links[k].now.Stall(side, d.Duration()) }

func (p *memPlant) counts(k *link) [2]Counts { return p.links[k].counts() }

func (p *memPlant) notes() []string { return nil }

func (p *memPlant) reap() error { return nil }

func (p *memPlant) close() error {
	var errs []error
	for _, m := range p.links {
		errs = append(errs, m.closeNow())
	}
	return errors.Join(errs...)
}
