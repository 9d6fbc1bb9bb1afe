// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"github.com/tbnet2/tbnet2/rail"
	"github.com/tbnet2/tbnet2/transport"
)

// allRails is the set of all ids.
const allRails = ^transport.RailSet(0)

// railOf gives the rail of a device and a remote MAC.
func (p *peer) railOf(d *device, mac rail.MAC) (transport.RailID, bool) {
	routes := *p.routes.Load()
	for i := range routes {
		if routes[i].device == d && routes[i].info.MAC == mac {
			return routes[i].info.ID, true
		}
	}
	return 0, false
}

// route gives a rail's route, nil if it is gone.
func (p *peer) route(id transport.RailID) *route {
	routes := *p.routes.Load()
	for i := range routes {
		if routes[i].info.ID == id {
			return &routes[i]
		}
	}
	return nil
}

// setRoute replaces the route of a rail, or removes it. Both locks are held.
func (p *peer) setRoute(id transport.RailID, r *route) {
	kept := []route{}
	for _, old := range *p.routes.Load() {
		if old.info.ID != id {
			kept = append(kept, old)
		}
	}
	if r != nil {
		kept = append(kept, *r)
	}
	p.routes.Store(&kept)
}

// addRail adds a rail that the handshake has made. Fabric.mu is held.
func (p *peer) addRail(now transport.Time, d *device, info transport.RailInfo) error {
	share := p.fabric.ringShare(d)
	choice, chosen := p.fabric.choices.of(p.id)
	p.lock()
	defer p.unlock()
	own := d.dev.Info()
	err := p.assoc.AddRail(now, transport.RailConfig{
		ID: info.ID, PeerID: info.PeerID, MTU: min(own.MTU, info.PeerMTU), Rate: transport.RateFromBits(info.Rate),
		Group: info.Group, Weight: d.opt.Weight, Ring: share, NoCRC: info.NoCRC, TrustLink: d.opt.NoCRC,
	})
	if err != nil {
		return err
	}
	p.setRoute(info.ID, &route{device: d, info: info})
	p.assoc.SetEnabled(now, info.ID, d.enabled, &p.in)
	p.assoc.SetCarrier(now, info.ID, own.Carrier, &p.in)
	p.chooseRails(choice, chosen)
	p.assoc.SetUse(now, p.use)
	p.settle(now)
	return nil
}

// ringShare is what of a device's receive ring a peer may fill: three quarters
// among all, so that strangers and control frames find room. Fabric.mu is held.
func (f *Fabric) ringShare(d *device) int {
	users := 1
	for _, p := range f.peers {
		for _, r := range *p.routes.Load() {
			if r.device == d {
				users++
			}
		}
	}
	return d.dev.Info().Ring / 4 * 3 / users
}

// changeRail follows what the peer says of a rail. Fabric.mu is held.
func (p *peer) changeRail(now transport.Time, info transport.RailInfo) {
	p.lock()
	defer p.unlock()
	r := p.route(info.ID)
	if r == nil {
		return
	}
	p.setRoute(info.ID, &route{device: r.device, info: info})
	p.setMTU(now, r.device, info.ID, min(r.device.dev.Info().MTU, info.PeerMTU))
	p.settle(now)
}

// removeRail takes a rail away. Fabric.mu is held.
func (p *peer) removeRail(now transport.Time, id transport.RailID) {
	p.lock()
	defer p.unlock()
	p.assoc.RemoveRail(now, id, &p.in)
	p.report(&p.in) // while the route has its name
	p.in.Reset()
	p.heard.Store(uint64(transport.RailSet(p.heard.Load()).Without(id)))
	p.setRoute(id, nil)
	p.relink()
	p.settle(now)
}

// deviceChanged follows a device's carrier and MTU. Fabric.mu is held.
func (p *peer) deviceChanged(now transport.Time, d *device, own rail.Info) {
	p.lock()
	defer p.unlock()
	for _, r := range *p.routes.Load() {
		if r.device == d {
			p.assoc.SetCarrier(now, r.info.ID, own.Carrier, &p.in)
			p.setMTU(now, d, r.info.ID, min(own.MTU, r.info.PeerMTU))
		}
	}
	p.settle(now)
}

// setMTU follows an MTU that has changed. Both locks are held.
func (p *peer) setMTU(now transport.Time, d *device, id transport.RailID, mtu int) {
	st, ok := p.assoc.RailStats(id)
	if !ok || st.MTU == mtu {
		return
	}
	if err := p.assoc.SetMTU(now, id, mtu); err != nil {
		p.fabric.cfg.Log.Warn("rail MTU", "rail", d.opt.Name, "err", err)
	}
}

// setEnabled takes a device's rails up or down. Fabric.mu is held.
func (p *peer) setEnabled(now transport.Time, d *device, up bool) {
	p.lock()
	defer p.unlock()
	for _, r := range *p.routes.Load() {
		if r.device == d {
			p.assoc.SetEnabled(now, r.info.ID, up, &p.in)
		}
	}
	p.settle(now)
}

// useRails makes a choice effective. Fabric.mu is held.
func (p *peer) useRails(now transport.Time, choice []RailChoice) {
	p.lock()
	defer p.unlock()
	p.chooseRails(choice, true)
	p.assoc.SetUse(now, p.use)
	p.settle(now)
	p.relink()
}

// chooseRails turns a choice of names into the set in use, and sets weights.
// Without one all rails are. Both locks are held, or nobody else has the peer.
func (p *peer) chooseRails(choice []RailChoice, chosen bool) {
	if !chosen {
		p.use = allRails
		return
	}
	p.use = 0
	for _, r := range *p.routes.Load() {
		for _, c := range choice {
			if c.Name == r.device.opt.Name {
				p.use = p.use.With(r.info.ID)
				p.assoc.SetWeight(r.info.ID, c.Weight)
			}
		}
	}
}
