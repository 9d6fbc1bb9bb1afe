// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/tbnet2/tbnet2/rail"
	"github.com/tbnet2/tbnet2/transport"
)

// Status is a fabric at one moment.
type Status struct {
	Host       string            `json:"host"` // UUID
	HostName   string            `json:"host_name"`
	Endpoint   uint8             `json:"endpoint"`
	Service    string            `json:"service"`
	Devices    []DeviceStatus    `json:"devices"`
	Peers      []PeerStatus      `json:"peers"`
	Mismatches []Mismatch        `json:"mismatches,omitempty"`
	Drops      map[string]uint64 `json:"drops"` // frames and packets that reached no association
	// Handshake counts HELLO, HELLO_ACK, CONFIRM and RESET; its drops are in
	// Drops.
	Handshake transport.HandshakeStats `json:"handshake"`
	// Past are the sums of associations that have ended.
	Past transport.ReceiveStats `json:"past"`
	// Switch counts what the Port's address table did.
	Switch SwitchStatus `json:"switch"`
	Missed uint64       `json:"missed_events"`
}

// SwitchStatus is the address table of the Port.
type SwitchStatus struct {
	Stations    uint64 `json:"stations"`     // addresses known
	Unlearned   uint64 `json:"unlearned"`    // times an address found no room
	FloodCopies uint64 `json:"flood_copies"` // packets sent to more than one peer, each peer's
}

// DeviceStatus is a rail device.
type DeviceStatus struct {
	Name    string     `json:"name"`
	Info    rail.Info  `json:"info"`
	Enabled bool       `json:"enabled"`
	Failure string     `json:"failure,omitempty"` // why it receives no more
	Stats   rail.Stats `json:"stats"`
}

// PeerStatus is an association.
type PeerStatus struct {
	Name       string                 `json:"name"`
	Host       string                 `json:"host"` // UUID
	Endpoint   uint8                  `json:"endpoint"`
	Retransmit bool                   `json:"retransmit"`
	Up         bool                   `json:"up"` // some rail is
	Rails      []RailStatus           `json:"rails"`
	Send       transport.SendStats    `json:"send"`
	Receive    transport.ReceiveStats `json:"receive"`
}

// RailStatus is a rail of an association.
type RailStatus struct {
	Name                string        `json:"name"`
	ID                  uint8         `json:"id"`
	PeerID              uint8         `json:"peer_id"`
	MAC                 string        `json:"peer_mac"`
	State               string        `json:"state"`
	Reason              string        `json:"reason,omitempty"`
	InUse               bool          `json:"in_use"`
	Weight              int           `json:"weight"`
	LocalMTU            int           `json:"local_mtu"` // bytes
	PeerMTU             int           `json:"peer_mtu"`
	MTU                 int           `json:"mtu"`      // proven to pass
	RateBits            uint64        `json:"rate_bps"` // measured, bits per second
	PeerRate            uint64        `json:"peer_rate_bps"`
	RTT                 time.Duration `json:"rtt_ns"`
	LeastRTT            time.Duration `json:"least_rtt_ns"`
	Delay               time.Duration `json:"delay_ns"` // one way, above the quickest rail's
	transport.RailStats `json:"counters"`
}

// Mismatch is a reason why a peer cannot be joined, as long as it holds.
type Mismatch struct {
	Kind string `json:"kind"` // service_mismatch, version_mismatch, uuid_conflict
	Rail string `json:"rail"`
	Peer string `json:"peer"` // host name
	Host string `json:"host"` // UUID
	Text string `json:"text"`
}

// Status gives a snapshot.
func (f *Fabric) Status() Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := Status{Host: f.cfg.Host.String(), HostName: f.cfg.HostName, Endpoint: f.cfg.Endpoint,
		Service: f.cfg.Service.String(), Drops: f.dropMap(), Handshake: f.handshake.Stats(), Past: f.past,
		Missed: f.events.missedSoFar()}
	s.Switch.Stations, s.Switch.Unlearned = f.port.stations.count()
	for _, p := range f.allPorts() {
		s.Switch.FloodCopies += p.drops.floodCopies.Load()
	}
	for _, n := range f.handshake.Notices() {
		s.Mismatches = append(s.Mismatches, Mismatch{n.Kind.String(), n.Device, n.Name, uuid.UUID(n.Peer.Host).String(), n.Text})
	}
	for _, d := range f.devices {
		s.Devices = append(s.Devices, d.status())
	}
	for _, p := range f.peers {
		s.Peers = append(s.Peers, p.status())
	}
	slices.SortFunc(s.Devices, func(a, b DeviceStatus) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(s.Peers, func(a, b PeerStatus) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Host, b.Host), cmp.Compare(a.Endpoint, b.Endpoint))
	})
	return s
}

// dropMap gives what was dropped outside of associations. Fabric.mu is held.
func (f *Fabric) dropMap() map[string]uint64 {
	d := &f.drops
	m := map[string]uint64{
		"malformed": d.malformed.Load(), "version": d.version.Load(), "unknown_index": d.unknownIndex.Load(),
		"no_rail": d.noRail.Load(), "ended": d.ended.Load(), "handshake_unsent": d.handshakeUnsent.Load(),
	}
	drops := f.handshake.Drops()
	drops.Each(func(name string, n uint64) { m["handshake_"+name] = n })
	for _, p := range f.allPorts() {
		m["no_peer"] += p.drops.noPeer.Load()
		m["short_packet"] += p.drops.short.Load()
		m["no_offload"] += p.drops.noOffload.Load()
		m["flood_full"] += p.drops.floodFull.Load()
		m["no_handler"] += p.drops.noHandler.Load()
		m["refused_packet"] += p.drops.refused.Load()
	}
	return m
}

// status gives a device's part. Fabric.mu is held.
func (d *device) status() DeviceStatus {
	s := DeviceStatus{Name: d.opt.Name, Info: d.dev.Info(), Enabled: d.enabled, Stats: d.dev.Stats()}
	if err := d.failure.Load(); err != nil {
		s.Failure = (*err).Error()
	}
	return s
}

func (p *peer) status() PeerStatus {
	p.lock()
	defer p.unlock()
	s := PeerStatus{Name: p.name, Host: p.host.String(), Endpoint: p.id.Endpoint, Retransmit: p.retransmit,
		Up: p.linked, Send: p.assoc.SendStats(), Receive: p.assoc.ReceiveStats()}
	for _, r := range *p.routes.Load() {
		if st, ok := p.assoc.RailStats(r.info.ID); ok {
			s.Rails = append(s.Rails, r.status(&st))
		}
	}
	slices.SortFunc(s.Rails, func(a, b RailStatus) int { return cmp.Compare(a.Name, b.Name) })
	return s
}

func (r *route) status(st *transport.RailStats) RailStatus {
	return RailStatus{Name: r.device.opt.Name, ID: uint8(r.info.ID), PeerID: uint8(r.info.PeerID), MAC: rail.MAC(r.info.MAC).String(),
		State: st.State.String(), Reason: st.Reason.String(), InUse: st.InUse, Weight: st.Weight,
		LocalMTU: r.device.dev.Info().MTU, PeerMTU: r.info.PeerMTU, MTU: st.MTU, RateBits: st.Rate.Bits(),
		PeerRate: r.info.PeerRate, RTT: time.Duration(st.RTT), LeastRTT: time.Duration(st.LeastRTT),
		Delay: time.Duration(st.Delay), RailStats: *st}
}
