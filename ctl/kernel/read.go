// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/tbnet2/tbnet2/ctl"
)

// snapshot is all that the module and rtnetlink tell.
type snapshot struct {
	ctl.Status
	links map[uint32]link
	bonds []bond
	peers []peer
	rails []rail
}

// Status implements ctl.Backend.
func (b *Backend) Status(ctx context.Context) (*ctl.Status, error) {
	s, err := b.read(ctx)
	if err != nil {
		return nil, err
	}
	return &s.Status, nil
}

// Stats implements ctl.Backend.
func (b *Backend) Stats(ctx context.Context) (*ctl.Stats, error) {
	s, err := b.Status(ctx)
	if err != nil {
		return nil, err
	}
	return s.Stats(), nil
}

func (b *Backend) read(ctx context.Context) (*snapshot, error) {
	s := &snapshot{Status: ctl.Status{SchemaVersion: ctl.SchemaVersion, Time: time.Now(), Bonds: []ctl.Bond{},
		Peers: []ctl.Peer{}, Rails: []ctl.Rail{}, Drops: []ctl.Drop{}, Warnings: []ctl.Warning{}}}
	if err := b.gather(ctx, s); err != nil {
		return nil, err
	}
	s.showRails()
	s.showPeers()
	s.showBonds()
	return s, nil
}

// gather asks for everything.
func (b *Backend) gather(ctx context.Context, s *snapshot) (err error) {
	msgs, err := b.request(ctx, CmdGetHost, nil, 0)
	if err != nil {
		return err
	}
	for _, m := range msgs {
		if err := decodeNest(m.Data, AttrHost, func(d *decoder) { decodeHost(d, &s.Host) }); err != nil {
			return err
		}
	}
	s.Host.Backend = "kernel"
	if s.bonds, err = dump(ctx, b, CmdGetBond, AttrBond, decodeBond); err != nil {
		return err
	}
	if s.peers, err = dump(ctx, b, CmdGetPeer, AttrPeer, decodePeer); err != nil {
		return err
	}
	if s.rails, err = dump(ctx, b, CmdGetRail, AttrRail, decodeRail); err != nil {
		return err
	}
	drops, err := dump(ctx, b, CmdGetDrop, AttrDrop, decodeDrop)
	if err != nil {
		return err
	}
	s.Drops = append(s.Drops, drops...)
	l, err := b.links()
	if err != nil {
		return err
	}
	s.links, err = l.all()
	return err
}

// linkName is a device's name, or its index where it is gone already.
func (s *snapshot) linkName(ifindex uint32) string {
	return cmp.Or(s.links[ifindex].name, fmt.Sprintf("if%d", ifindex))
}

func (s *snapshot) showRails() {
	for _, r := range s.rails {
		l := s.links[r.ifindex]
		r.Name, r.Device, r.MTU, r.Carrier = s.linkName(r.ifindex), s.linkName(r.ifindex), l.mtu, l.carrier
		if r.paired {
			r.PeerUUID = r.peer.String()
			r.Peer = cmp.Or(s.peerName(r.peer), r.PeerUUID)
		}
		s.Simulated = s.Simulated || r.Simulated
		s.Rails = append(s.Rails, r.Rail)
	}
}

func (s *snapshot) peerName(id uuid.UUID) string {
	for i := range s.peers {
		if s.peers[i].id == id {
			return s.peers[i].Name
		}
	}
	return ""
}

func (s *snapshot) showPeers() {
	for _, p := range s.peers {
		p.Addresses, p.Rails = []string{}, []string{}
		for _, r := range s.Rails {
			if r.PeerUUID != p.UUID {
				continue
			}
			p.Rails = append(p.Rails, r.Name)
			if r.InUse && r.State == ctl.RailUp {
				p.RateBPS += cmp.Or(r.RateBPS, r.LinkBPS)
			}
		}
		s.Peers = append(s.Peers, p.Peer)
	}
}

func (s *snapshot) showBonds() {
	for _, b := range s.bonds {
		l := s.links[b.ifindex]
		out := ctl.Bond{Name: s.linkName(b.ifindex), Kind: "kernel", Peers: []string{}, MTU: l.mtu, MaxPacket: packetMax,
			Carrier: l.carrier, Addresses: slices.Clone(l.addresses)}
		if out.Addresses == nil {
			out.Addresses = []string{}
		}
		for i, p := range s.peers {
			if p.bond == b.ifindex {
				out.Peers = append(out.Peers, cmp.Or(p.Name, p.UUID))
				out.RateBPS += s.Peers[i].RateBPS
			}
		}
		s.Bonds = append(s.Bonds, out)
	}
}

// packetMax is TBNET2_PACKET_MAX, bytes.
const packetMax = 65600
