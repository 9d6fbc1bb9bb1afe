// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"cmp"
	"slices"
	"time"

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
	Missed     uint64            `json:"missed_events"`
}

// DeviceStatus is a rail device.
type DeviceStatus struct {
	Name    string     `json:"name"`
	Info    rail.Info  `json:"info"`
	Enabled bool       `json:"enabled"`
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

// Mismatch is a reason why a peer could not be joined.
type Mismatch struct {
	Rail  string `json:"rail"`
	Text  string `json:"text"`
	Count int    `json:"count"`
}

// Status gives a snapshot.
func (f *Fabric) Status() Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := Status{Host: f.cfg.Host.String(), HostName: f.cfg.HostName, Endpoint: f.cfg.Endpoint,
		Service: f.cfg.Service.String(), Mismatches: slices.Clone(f.mismatches), Drops: f.dropMap()}
	for _, d := range f.devices {
		s.Devices = append(s.Devices, DeviceStatus{d.opt.Name, d.dev.Info(), d.enabled, d.dev.Stats()})
	}
	for _, p := range f.peers {
		s.Peers = append(s.Peers, p.status())
	}
	f.events.mu.Lock()
	s.Missed = f.events.missed
	f.events.mu.Unlock()
	slices.SortFunc(s.Devices, func(a, b DeviceStatus) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(s.Peers, func(a, b PeerStatus) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Endpoint, b.Endpoint))
	})
	return s
}

func (f *Fabric) dropMap() map[string]uint64 {
	d, p := &f.drops, &f.port.drops
	return map[string]uint64{
		"malformed": d.malformed.Load(), "unknown_index": d.unknownIndex.Load(), "no_rail": d.noRail.Load(),
		"handshake": d.handshake.Load(), "no_peer": p.noPeer.Load(), "short_packet": p.short.Load(),
		"no_offload": p.noOffload.Load(), "flood_full": p.floodFull.Load(),
	}
}

func (p *peer) status() PeerStatus {
	p.lock()
	defer p.unlock()
	s := PeerStatus{Name: p.name, Host: p.host.String(), Endpoint: p.key.Endpoint, Retransmit: p.retransmit,
		Up: p.assoc.UpRails() != 0, Send: p.assoc.SendStats(), Receive: p.assoc.ReceiveStats()}
	for _, r := range *p.routes.Load() {
		st, ok := p.assoc.RailStats(r.id)
		if !ok {
			continue
		}
		s.Rails = append(s.Rails, RailStatus{Name: r.device.opt.Name, ID: uint8(r.id), PeerID: r.hello.Rail,
			MAC: r.mac.String(), State: st.State.String(), Reason: st.Reason.String(), InUse: st.InUse, Weight: st.Weight,
			LocalMTU: r.device.dev.Info().MTU, PeerMTU: int(r.hello.MTU), MTU: st.MTU, RateBits: st.Rate.Bits(),
			PeerRate: r.hello.Rate, RTT: time.Duration(st.RTT), LeastRTT: time.Duration(st.LeastRTT),
			Delay: time.Duration(st.Delay), RailStats: st})
	}
	slices.SortFunc(s.Rails, func(a, b RailStatus) int { return cmp.Compare(a.Name, b.Name) })
	return s
}
