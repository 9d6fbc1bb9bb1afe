// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tbnet2/tbnet2/rail/model"
	"github.com/tbnet2/tbnet2/rail/relay"
)

// linkGroup is what the links of a cable share, whatever they are made of.
type linkGroup struct {
	guard   sync.Mutex
	shapers [2]model.Shaper
	start   time.Time
}

// startRelays starts the relay of every link that has one. A cable's relays
// share its rate; each port of a segment has its own.
func (p *netPlant) startRelays(l *Lab) error {
	groups := map[string]*linkGroup{}
	for _, k := range l.links {
		if k.model != Relay {
			continue
		}
		c := relay.Config{
			NetNS: p.cables.Fd(), A: k.ends[0].mid(), B: k.ends[1].mid(),
			Seed: l.seed(k), Params: k.states[0].params(),
		}
		if k.cable {
			g := groups[k.group]
			if g == nil {
				g = &linkGroup{start: time.Now()}
				groups[k.group] = g
			}
			c.Shapers, c.Guard, c.Start = &g.shapers, &g.guard, g.start
		}
		r, err := relay.New(c)
		if err != nil {
			return fmt.Errorf("rail %s: %w", k.name, err)
		}
		p.relays[k] = r
	}
	return nil
}

// stopRelays closes them all at once: each waits for the kernel to forget its
// sockets.
func (p *netPlant) stopRelays() error {
	errs := make(chan error, len(p.relays))
	for _, r := range p.relays {
		go func() { errs <- r.Close() }()
	}
	var all []error
	for range p.relays {
		all = append(all, <-errs)
	}
	return errors.Join(all...)
}

// apply gives each link's model its parameters; a token bucket has a rate only.
func (p *netPlant) apply(l *Lab, links []*link) error {
	for _, k := range links {
		if k.model == TBF {
			if err := p.shape(k, l.share(k)); err != nil {
				return err
			}
			continue
		}
		r := p.relays[k]
		if r == nil {
			continue
		}
		for side, s := range k.states {
			if err := r.Set(side, s.params()); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *netPlant) stall(k *link, side int, d Time) {
	if r := p.relays[k]; r != nil {
		r.Stall(side, d.Duration())
	}
}

// counts are the relay's, or the devices' own where there is none.
func (p *netPlant) counts(k *link) (out [2]Counts) {
	r := p.relays[k]
	for side := range out {
		if r != nil {
			out[side] = countsOf(r.Counts(side), r.Unsent(side))
			missed := r.Missed(side)
			out[side].In += missed
			out[side].Missed = missed
			continue
		}
		out[side] = k.deviceCounts(side)
	}
	return out
}

// deviceCounts takes what a host's device has sent and the other received.
// What cannot be read, since a host has renamed its device, is 0.
func (k *link) deviceCounts(side int) (c Counts) {
	if from := k.ends[side].stats(); from != nil {
		c.In, c.InBytes = from.TxPackets, from.TxBytes
	}
	if to := k.ends[1-side].stats(); to != nil {
		c.Out, c.OutBytes = to.RxPackets, to.RxBytes
	}
	return c
}

// countsOf is a link model's count, less what the device at the other end did
// not take.
func countsOf(m model.Counts, unsent uint64) Counts {
	return Counts{
		In: m.Frames, InBytes: m.Bytes,
		Out:  m.Frames + m.Duplicated - m.Lost - m.Discarded - m.QueueFull - min(unsent, m.Frames),
		Lost: m.Lost, Corrupted: m.Corrupted, Duplicated: m.Duplicated,
		Discarded: m.Discarded, Overflow: m.QueueFull, Unplugged: unsent,
	}
}
