// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"net"
	"net/netip"

	"github.com/google/uuid"

	"github.com/tbnet2/tbnet2/ctl"
	"github.com/tbnet2/tbnet2/fabric"
	"github.com/tbnet2/tbnet2/userstack"
)

// Status implements ctl.Backend.
func (d *daemon) Status(context.Context) (*ctl.Status, error) { return d.snapshot(), nil }

// Stats implements ctl.Backend.
func (d *daemon) Stats(context.Context) (*ctl.Stats, error) { return d.snapshot().Stats(), nil }

// SetRails implements ctl.Backend. For a bond with several peers all are
// checked before the first is changed; should one fail all the same, those
// before it are set back.
func (d *daemon) SetRails(_ context.Context, set ctl.RailSet) (*ctl.RailsInUse, error) {
	before := d.snapshot()
	peers, err := before.Resolve(set)
	if err != nil {
		return nil, err
	}
	for i, p := range peers {
		if err := d.setPeer(p); err != nil {
			for _, back := range peers[:i] {
				err = errors.Join(err, d.setPeer(inUse(before, back.Peer)))
			}
			return nil, coded(err)
		}
	}
	return &ctl.RailsInUse{SchemaVersion: ctl.SchemaVersion, Peers: peers}, nil
}

func (d *daemon) setPeer(p ctl.PeerRails) error {
	var rails []fabric.RailChoice
	for _, c := range p.Rails {
		rails = append(rails, fabric.RailChoice{Name: c.Name, Weight: c.Weight})
	}
	return d.fabric.SetRails(p.Peer, rails)
}

// inUse gives the rails in use to a peer.
func inUse(s *ctl.Status, peer string) ctl.PeerRails {
	out := ctl.PeerRails{Peer: peer}
	for i := range s.Rails {
		if r := &s.Rails[i]; r.Peer == peer && r.InUse {
			out.Rails = append(out.Rails, ctl.RailChoice{Name: r.Name, Weight: r.Weight})
		}
	}
	return out
}

// coded gives the fabric's errors their code.
func coded(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fabric.ErrNoPeer), errors.Is(err, fabric.ErrNoRail):
		return ctl.Errorf(ctl.CodeNotFound, "%v", err)
	case errors.Is(err, fabric.ErrClosed):
		return ctl.Errorf(ctl.CodeBusy, "the daemon is stopping")
	}
	return ctl.Errorf(ctl.CodeInvalid, "%v", err)
}

// SetRailUp implements ctl.Backend.
func (d *daemon) SetRailUp(_ context.Context, rail string, up bool) error {
	for _, a := range d.keeper.absent() {
		if a.config.Name == rail {
			return ctl.Errorf(ctl.CodeInvalid, "rail %s is not there: %s", rail, a.reason)
		}
	}
	return coded(d.fabric.SetRailUp(rail, up))
}

// SetBond implements ctl.Backend.
func (d *daemon) SetBond(_ context.Context, change ctl.BondChange) error {
	if name := d.outlet.status().Name; change.Name != name {
		return ctl.Errorf(ctl.CodeNotFound, "no bond %q (there is: %s)", change.Name, name)
	}
	for _, a := range change.Addresses {
		if _, err := netip.ParsePrefix(a); err != nil {
			return ctl.Errorf(ctl.CodeInvalid, "%q is no ADDRESS/PREFIX", a)
		}
	}
	return d.outlet.change(change)
}

// Events implements ctl.Backend.
func (d *daemon) Events(ctx context.Context, follow bool, each func(ctl.Event) error) error {
	return d.history.read(ctx, follow, each)
}

// Bench implements ctl.Bencher.
func (d *daemon) Bench(ctx context.Context, r ctl.BenchRequest, progress func(ctl.BenchProgress)) (*ctl.BenchResult, error) {
	s := d.snapshot()
	p, ok := s.Peer(r.Peer)
	switch {
	case !ok:
		return nil, ctl.Errorf(ctl.CodeNotFound, "no peer %q (see `tbnetctl status`)", r.Peer)
	case p.State != ctl.PeerConnected:
		return nil, ctl.Errorf(ctl.CodeUnreachable, "peer %s is %s: %s", p.Name, p.State, p.Reason)
	}
	id, err := uuid.Parse(p.UUID)
	if err != nil {
		return nil, err
	}
	to := netip.AddrPortFrom(userstack.LinkLocal6(id), benchPort)
	runs, err := runBench(ctx, func(ctx context.Context) (net.Conn, error) { return d.outlet.dial(ctx, to) }, r, progress)
	if err != nil {
		return nil, err
	}
	return &ctl.BenchResult{SchemaVersion: ctl.SchemaVersion, Peer: p.Name, Simulated: s.Simulated, Outlet: d.outlet.status().Kind,
		WireBPS: wireRate(s, p), Runs: runs}, nil
}

// wireRate adds up the links' rates in use; 0 where one is unknown or is no
// link at all.
func wireRate(s *ctl.Status, p *ctl.Peer) uint64 {
	var sum uint64
	for i := range s.Rails {
		r := &s.Rails[i]
		if r.PeerUUID != p.UUID || !r.InUse || r.State != ctl.RailUp {
			continue
		}
		if r.LinkBPS == 0 || r.Simulated {
			return 0
		}
		sum += r.LinkBPS
	}
	return sum
}
