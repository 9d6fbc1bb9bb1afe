// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"context"
	"errors"
	"slices"

	"github.com/mdlayher/netlink"

	"github.com/tbnet2/tbnet2/ctl"
)

// encoder collects attributes.
type encoder = netlink.AttributeEncoder

// change sends a command.
func (b *Backend) change(ctx context.Context, cmd uint8, e *encoder) error {
	data, err := e.Encode()
	if err != nil {
		return ctl.Errorf(ctl.CodeInternal, "encode: %v", err)
	}
	_, err = b.request(ctx, cmd, data, netlink.Acknowledge)
	return err
}

// SetRails implements ctl.Backend.
func (b *Backend) SetRails(ctx context.Context, set ctl.RailSet) (*ctl.RailsInUse, error) {
	s, err := b.read(ctx)
	if err != nil {
		return nil, err
	}
	peers, err := s.Resolve(set)
	if err != nil {
		return nil, err
	}
	e := netlink.NewAttributeEncoder()
	for _, p := range peers {
		e.Nested(AttrUse, func(in *encoder) error {
			s.use(in, p)
			return nil
		})
	}
	if err := b.change(ctx, CmdSetRails, e); err != nil {
		return nil, err
	}
	return &ctl.RailsInUse{SchemaVersion: ctl.SchemaVersion, Peers: peers}, nil
}

// use encodes the rails in use to one peer, which Resolve has found.
func (s *snapshot) use(e *encoder, set ctl.PeerRails) {
	at := slices.IndexFunc(s.peers, func(p peer) bool { return p.Name == set.Peer || p.UUID == set.Peer })
	id := s.peers[at].id
	e.Bytes(UsePeer, id[:])
	for _, choice := range set.Rails {
		e.Nested(UseRail, func(in *encoder) error {
			in.Uint32(UseRailIfindex, s.railTo(id, choice.Name))
			if choice.Weight != 0 {
				in.Uint32(UseRailWeight, uint32(choice.Weight))
			}
			return nil
		})
	}
}

// railTo is the index of the device of that name that leads to a peer.
func (s *snapshot) railTo(id [16]byte, device string) uint32 {
	for i := range s.rails {
		if s.Rails[i].Name == device && s.rails[i].peer == id {
			return s.rails[i].ifindex
		}
	}
	return 0
}

// SetRailUp implements ctl.Backend.
func (b *Backend) SetRailUp(ctx context.Context, name string, up bool) error {
	s, err := b.read(ctx)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(s.Rails, func(r ctl.Rail) bool { return r.Name == name })
	if at < 0 {
		return ctl.Errorf(ctl.CodeNotFound, "no rail %q: see `tbnetctl rails list`", name)
	}
	enabled := uint8(0)
	if up {
		enabled = 1
	}
	e := netlink.NewAttributeEncoder()
	e.Nested(AttrRail, func(in *encoder) error {
		in.Uint32(RailIfindex, s.rails[at].ifindex)
		in.Uint8(RailEnabled, enabled)
		return nil
	})
	return b.change(ctx, CmdSetRail, e)
}

// SetBond implements ctl.Backend: what it changes is any network device's. What
// was done before a step fails is undone.
func (b *Backend) SetBond(ctx context.Context, c ctl.BondChange) error {
	s, err := b.read(ctx)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(s.Bonds, func(b ctl.Bond) bool { return b.Name == c.Name })
	if at < 0 {
		return ctl.Errorf(ctl.CodeNotFound, "no bond %q: see `tbnetctl bond show`", c.Name)
	}
	l, err := b.links()
	if err != nil {
		return err
	}
	return setBond(l, s.bonds[at].ifindex, &s.Bonds[at], c)
}

func setBond(l links, ifindex uint32, was *ctl.Bond, c ctl.BondChange) (err error) {
	var undo []func() error
	defer func() {
		if err == nil {
			return
		}
		for _, f := range slices.Backward(undo) {
			err = errors.Join(err, f())
		}
	}()
	if c.MTU != 0 {
		if err := l.setMTU(ifindex, c.MTU); err != nil {
			return err
		}
		undo = append(undo, func() error { return l.setMTU(ifindex, was.MTU) })
	}
	for _, a := range c.Addresses {
		if slices.Contains(was.Addresses, a) {
			continue
		}
		if err := l.addAddress(ifindex, a); err != nil {
			return err
		}
		undo = append(undo, func() error { return l.removeAddress(ifindex, a) })
	}
	return nil
}
