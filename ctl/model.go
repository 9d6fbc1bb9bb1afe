// SPDX-License-Identifier: Apache-2.0

package ctl

import "time"

// Status is a snapshot of one host.
type Status struct {
	SchemaVersion int       `json:"schema_version"`
	Time          time.Time `json:"time"`
	// Simulated is set where any rail is not real hardware: no figure in the
	// snapshot says anything about Thunderbolt then.
	Simulated bool      `json:"simulated"`
	Host      Host      `json:"host"`
	Bonds     []Bond    `json:"bonds"`
	Peers     []Peer    `json:"peers"`
	Rails     []Rail    `json:"rails"`
	Drops     []Drop    `json:"drops"`
	Warnings  []Warning `json:"warnings"`
}

// Host is this host and the program that answers for it.
type Host struct {
	UUID     string    `json:"uuid"`
	Name     string    `json:"name"`
	Version  string    `json:"version"`
	Backend  string    `json:"backend"` // "daemon", "kernel" or "fake"
	Endpoint uint8     `json:"endpoint"`
	Started  time.Time `json:"started"`
}

// Bond is one outlet: the network device or stack that uses the rails.
type Bond struct {
	Name      string   `json:"name"`
	Kind      string   `json:"kind"` // "tap", "userstack" or "kernel"
	Peers     []string `json:"peers"`
	MTU       int      `json:"mtu"`        // bytes of an IP packet
	MaxPacket int      `json:"max_packet"` // bytes of the largest superpacket
	Carrier   bool     `json:"carrier"`
	Addresses []string `json:"addresses"`
	RateBPS   uint64   `json:"rate_bps"` // sum of its rails' rates, bits per second
}

// PeerState says how far the association with a peer has come.
type PeerState string

// Peer states.
const (
	PeerConnected PeerState = "connected" // at least one rail is up
	PeerLost      PeerState = "lost"      // no rail is up; its queues wait
	PeerMismatch  PeerState = "mismatch"  // seen, but versions or services do not meet
)

// Peer is one other host.
type Peer struct {
	UUID       string       `json:"uuid"`
	Name       string       `json:"name"`
	State      PeerState    `json:"state"`
	Reason     string       `json:"reason,omitempty"`
	Addresses  []string     `json:"addresses"`
	Rails      []string     `json:"rails"`      // all rails to this peer
	RateBPS    uint64       `json:"rate_bps"`   // sum over rails in use
	RTTNS      int64        `json:"rtt_ns"`     // least of its rails
	Retransmit bool         `json:"retransmit"` // in force: both ends asked for it
	Flow       FlowCounters `json:"counters"`
}

// FlowCounters are totals of packets with one peer since it was first seen.
type FlowCounters struct {
	TxPackets     uint64 `json:"tx_packets"`
	TxBytes       uint64 `json:"tx_bytes"`
	TxResentBytes uint64 `json:"tx_resent_bytes"` // sent again on the link
	RxPackets     uint64 `json:"rx_packets"`
	RxBytes       uint64 `json:"rx_bytes"`
	// RxReordered counts packets that had to wait for an earlier one.
	RxReordered   uint64 `json:"rx_reordered"`
	RxParkedBytes uint64 `json:"rx_parked_bytes"` // held back now
	TxQueuedBytes uint64 `json:"tx_queued_bytes"` // waiting to be sent now
}

// RailState is the liveness of a rail as docs/protocol.md section 8 has it,
// and two states in which there is nothing to be alive.
type RailState string

// Rail states.
const (
	RailUnpaired RailState = "unpaired" // no host answers at the other end
	RailProbing  RailState = "probing"
	RailUp       RailState = "up"
	RailSuspect  RailState = "suspect"
	RailDown     RailState = "down"
)

// Rail is one frame link to one peer, or a device that still looks for one.
type Rail struct {
	Name      string       `json:"name"`
	Device    string       `json:"device"`
	Peer      string       `json:"peer,omitempty"` // name of the peer, its UUID where it told none
	PeerUUID  string       `json:"peer_uuid,omitempty"`
	State     RailState    `json:"state"`
	Reason    string       `json:"reason,omitempty"` // why it is not up
	Enabled   bool         `json:"enabled"`          // false after `rails down`
	InUse     bool         `json:"in_use"`           // in the set chosen for its peer
	Carrier   bool         `json:"carrier"`
	Simulated bool         `json:"simulated"`
	Weight    int          `json:"weight"`   // 0: by measured rate
	MTU       int          `json:"mtu"`      // bytes of one frame after the Ethernet header
	PeerMTU   int          `json:"peer_mtu"` // what the other end announced, 0 unknown
	LinkBPS   uint64       `json:"link_bps"` // the device's own word, 0 unknown
	RateBPS   uint64       `json:"rate_bps"` // measured
	DelayNS   int64        `json:"delay_ns"` // one way, beyond the quickest rail
	RTTNS     int64        `json:"rtt_ns"`
	Since     time.Time    `json:"since"` // of the present state, zero unknown
	Counters  RailCounters `json:"counters"`
}

// RailCounters are totals of one rail since it was added.
type RailCounters struct {
	TxFrames    uint64 `json:"tx_frames"`
	TxBytes     uint64 `json:"tx_bytes"`
	TxErrors    uint64 `json:"tx_errors"`
	TxStall     uint64 `json:"tx_stall"`    // times the device took no more
	TxLost      uint64 `json:"tx_lost"`     // frames the peer did not get
	CreditWait  uint64 `json:"credit_wait"` // times the peer's credit was used up
	RxFrames    uint64 `json:"rx_frames"`
	RxBytes     uint64 `json:"rx_bytes"`
	RxErrors    uint64 `json:"rx_errors"`
	RxNoBuffer  uint64 `json:"rx_no_buffer"`
	RxLost      uint64 `json:"rx_lost"`      // frames that a gap proved lost
	RxReordered uint64 `json:"rx_reordered"` // frames out of the rail's order
	Flaps       uint64 `json:"flaps"`        // times it left up
	Suspicions  uint64 `json:"suspicions"`   // times it was suspect
}

// Drop counts what was thrown away for one reason.
type Drop struct {
	Reason string `json:"reason"`
	Count  uint64 `json:"count"`
}

// Warning is a state that works but should not stay.
type Warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Stats are the counters of a Status alone, for programs that poll.
type Stats struct {
	SchemaVersion int         `json:"schema_version"`
	Time          time.Time   `json:"time"`
	Simulated     bool        `json:"simulated"`
	Rails         []RailStats `json:"rails"`
	Peers         []PeerStats `json:"peers"`
	Drops         []Drop      `json:"drops"`
}

// RailStats are one rail's counters.
type RailStats struct {
	Name     string       `json:"name"`
	Peer     string       `json:"peer,omitempty"`
	State    RailState    `json:"state"`
	Counters RailCounters `json:"counters"`
}

// PeerStats are one peer's counters.
type PeerStats struct {
	Name     string       `json:"name"`
	UUID     string       `json:"uuid"`
	Counters FlowCounters `json:"counters"`
}

// Stats gives the counters of s.
func (s *Status) Stats() *Stats {
	out := &Stats{SchemaVersion: SchemaVersion, Time: s.Time, Simulated: s.Simulated,
		Rails: []RailStats{}, Peers: []PeerStats{}, Drops: s.Drops}
	for i := range s.Rails {
		r := &s.Rails[i]
		out.Rails = append(out.Rails, RailStats{r.Name, r.Peer, r.State, r.Counters})
	}
	for i := range s.Peers {
		p := &s.Peers[i]
		out.Peers = append(out.Peers, PeerStats{p.Name, p.UUID, p.Flow})
	}
	return out
}

// Peer finds a peer by name or UUID.
func (s *Status) Peer(target string) (*Peer, bool) {
	for i := range s.Peers {
		if p := &s.Peers[i]; p.Name == target || p.UUID == target {
			return p, true
		}
	}
	return nil, false
}

// Bond finds a bond by name.
func (s *Status) Bond(name string) (*Bond, bool) {
	for i := range s.Bonds {
		if s.Bonds[i].Name == name {
			return &s.Bonds[i], true
		}
	}
	return nil, false
}

// Rail finds a rail by name. One device on a switch can be a rail to several
// peers: this is the first of them.
func (s *Status) Rail(name string) (*Rail, bool) {
	for i := range s.Rails {
		if s.Rails[i].Name == name {
			return &s.Rails[i], true
		}
	}
	return nil, false
}

// railTo finds the rail of that name to a peer.
func (s *Status) railTo(p *Peer, name string) (*Rail, bool) {
	for i := range s.Rails {
		if r := &s.Rails[i]; r.Name == name && r.PeerUUID == p.UUID {
			return r, true
		}
	}
	return nil, false
}
