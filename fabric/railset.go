// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tbnet2/tbnet2/rail"
	"github.com/tbnet2/tbnet2/transport"
)

// RailChoice is a rail to use, with its share relative to the others that have
// a weight; 0 is by measured rate.
type RailChoice struct {
	Name   string
	Weight int
}

// choices are what SetRails has chosen. They outlive associations.
type choices struct {
	all    []RailChoice // nil: every rail
	byPeer map[transport.PeerID][]RailChoice
}

// of gives the choice for a peer, if there is one.
func (c *choices) of(id transport.PeerID) ([]RailChoice, bool) {
	if own, ok := c.byPeer[id]; ok {
		return own, true
	}
	return c.all, c.all != nil
}

// SetRails makes the given rails the only ones that carry data to a peer: a
// host name, a UUID, the unique start of either, with "/N" behind it for one
// endpoint of several, or "" for all peers, also those to come. The other rails
// stay alive and can be set again. On error nothing has changed.
func (f *Fabric) SetRails(peerName string, rails []RailChoice) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	peers, err := f.find(peerName)
	if err != nil && (peerName != "" || !errors.Is(err, ErrNoPeer)) {
		return err
	}
	if err := f.checkChoice(rails); err != nil {
		return err
	}
	for _, p := range peers {
		if err := p.checkChoice(rails, peerName != ""); err != nil {
			return err
		}
	}
	rails = slices.Clone(rails)
	if peerName == "" {
		f.choices.all = rails
		clear(f.choices.byPeer)
	}
	for _, p := range peers {
		if peerName != "" {
			f.choices.byPeer[p.id] = rails
		}
		p.useRails(f.now(), rails)
		f.emit(Event{Kind: "rails_set", Peer: p.name})
	}
	return nil
}

// checkChoice checks a choice for itself. Fabric.mu is held.
func (f *Fabric) checkChoice(rails []RailChoice) error {
	if len(rails) == 0 {
		return errors.New("no rails given; a peer needs one at least")
	}
	seen := map[string]bool{}
	for _, c := range rails {
		switch {
		case c.Weight < 0:
			return fmt.Errorf("rail %s: weight %d is below 0", c.Name, c.Weight)
		case seen[c.Name]:
			return fmt.Errorf("rail %s is given twice", c.Name)
		case f.devices[c.Name] == nil:
			return fmt.Errorf("%w: %q", ErrNoRail, c.Name)
		}
		seen[c.Name] = true
	}
	return nil
}

// checkChoice checks a choice against the peer's rails: all of them must be,
// or one at least where the choice is for several peers.
func (p *peer) checkChoice(rails []RailChoice, every bool) error {
	found := 0
	for _, c := range rails {
		switch {
		case p.hasRail(c.Name):
			found++
		case every:
			return fmt.Errorf("%w: %q to peer %s; its rails are %s", ErrNoRail, c.Name, p.name, p.railNames())
		}
	}
	if found == 0 {
		return fmt.Errorf("%w: peer %s would be cut off; its rails are %s", ErrNoRail, p.name, p.railNames())
	}
	return nil
}

func (p *peer) hasRail(name string) bool {
	return slices.ContainsFunc(*p.routes.Load(), func(r route) bool { return r.device.opt.Name == name })
}

func (p *peer) railNames() string {
	var names []string
	for _, r := range *p.routes.Load() {
		names = append(names, r.device.opt.Name)
	}
	if len(names) == 0 {
		return "none yet"
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// SetRailUp takes a rail up or down, to all peers.
func (f *Fabric) SetRailUp(name string, up bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	d := f.devices[name]
	if d == nil {
		return fmt.Errorf("%w: %q", ErrNoRail, name)
	}
	d.enabled = up
	now := f.now()
	for _, p := range f.peers {
		p.setEnabled(now, d, up)
	}
	f.handshake.SetDevice(now, d.id, d.attachment())
	f.settle()
	return nil
}

// Device gives the device of a rail, for what only it knows.
func (f *Fabric) Device(name string) (rail.Device, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if d := f.devices[name]; d != nil {
		return d.dev, nil
	}
	return nil, fmt.Errorf("%w: %q", ErrNoRail, name)
}
