// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"fmt"
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

// find gives the peers that a name means: a host name, a UUID, a unique start
// of one, or "" for all. Fabric.mu is held.
func (f *Fabric) find(name string) ([]*peer, error) {
	var found []*peer
	for _, p := range f.peers {
		if name == "" || p.name == name || strings.HasPrefix(p.host.String(), strings.ToLower(name)) {
			found = append(found, p)
		}
	}
	switch {
	case len(found) == 0 && name == "":
		return nil, fmt.Errorf("%w: none is connected", ErrNoPeer)
	case len(found) == 0:
		return nil, fmt.Errorf("%w: %q; connected are %s", ErrNoPeer, name, f.peerNames())
	case name != "" && len(hostsOf(found)) > 1:
		return nil, fmt.Errorf("%w: %q; use the host's UUID", ErrAmbiguous, name)
	}
	return found, nil
}

// hostsOf gives the different hosts among peers.
func hostsOf(peers []*peer) map[string]bool {
	hosts := map[string]bool{}
	for _, p := range peers {
		hosts[p.host.String()] = true
	}
	return hosts
}

func (f *Fabric) peerNames() string {
	var names []string
	for _, p := range f.peers {
		names = append(names, p.name)
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// SetRails makes the given rails the only ones that carry data to a peer ("":
// to all). The others stay alive and can be set again. On error nothing has
// changed.
func (f *Fabric) SetRails(peerName string, rails []RailChoice) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	peers, err := f.find(peerName)
	if err != nil {
		return err
	}
	if len(rails) == 0 {
		return fmt.Errorf("no rails given; a peer needs one at least")
	}
	plans := make([]map[transport.RailID]int, len(peers))
	for i, p := range peers {
		if plans[i], err = p.plan(rails); err != nil {
			return err
		}
	}
	for i, p := range peers {
		p.use(f.now(), plans[i])
		f.emit(Event{Kind: "rails_set", Peer: p.name})
	}
	return nil
}

// plan checks a choice against the peer's rails and gives weights by id.
func (p *peer) plan(rails []RailChoice) (map[transport.RailID]int, error) {
	plan := map[transport.RailID]int{}
	for _, c := range rails {
		if c.Weight < 0 {
			return nil, fmt.Errorf("rail %s: weight %d is below 0", c.Name, c.Weight)
		}
		r := p.routeNamed(c.Name)
		if r == nil {
			return nil, fmt.Errorf("%w: %q to peer %s; its rails are %s", ErrNoRail, c.Name, p.name, p.railNames())
		}
		if _, twice := plan[r.id]; twice {
			return nil, fmt.Errorf("rail %s is given twice", c.Name)
		}
		plan[r.id] = c.Weight
	}
	return plan, nil
}

func (p *peer) routeNamed(name string) *route {
	routes := *p.routes.Load()
	for i := range routes {
		if routes[i].device.opt.Name == name {
			return &routes[i]
		}
	}
	return nil
}

func (p *peer) railNames() string {
	var names []string
	for _, r := range *p.routes.Load() {
		names = append(names, r.device.opt.Name)
	}
	if len(names) == 0 {
		return "none yet"
	}
	return strings.Join(names, ", ")
}

// use applies a checked plan.
func (p *peer) use(now transport.Time, plan map[transport.RailID]int) {
	p.lock()
	defer p.unlock()
	set := transport.RailSet(0)
	for id, weight := range plan {
		set = set.With(id)
		p.assoc.SetWeight(id, weight)
	}
	p.assoc.SetUse(now, set)
	p.chosen = namesOf(p, set)
	p.settle(now)
}

// namesOf gives the names of a set's rails; rails that come back by these names
// are in use again.
func namesOf(p *peer, set transport.RailSet) map[string]bool {
	names := map[string]bool{}
	for _, r := range *p.routes.Load() {
		if set.Has(r.id) {
			names[r.device.opt.Name] = true
		}
	}
	return names
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
	info := d.dev.Info()
	f.handshake.SetDevice(now, d.id, d.facts(info), info.Carrier && up, false)
	for _, p := range f.peers {
		p.setEnabled(now, d, up)
	}
	f.clock.wake()
	return nil
}

func (p *peer) setEnabled(now transport.Time, d *device, up bool) {
	p.lock()
	defer p.unlock()
	for _, r := range *p.routes.Load() {
		if r.device == d {
			p.assoc.SetEnabled(now, r.id, up, &p.in)
		}
	}
	p.settle(now)
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
