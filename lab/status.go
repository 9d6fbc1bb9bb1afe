// SPDX-License-Identifier: Apache-2.0

package lab

// Status is a lab as it is now.
type Status struct {
	Name      string       `json:"name,omitempty"`
	Mode      Mode         `json:"mode"`
	UID       int          `json:"uid"`       // outside of any user namespace
	Simulated bool         `json:"simulated"` // always true
	Hosts     []HostStatus `json:"hosts"`
	Rails     []RailStatus `json:"rails"`
	Notes     []string     `json:"notes,omitempty"`
}

// HostStatus is a host of a lab.
type HostStatus struct {
	Name  string   `json:"name"`
	UUID  string   `json:"uuid"`
	NetNS string   `json:"netns,omitempty"` // for `ip netns exec`, where it is named
	Rails []string `json:"rails"`
}

// RailStatus is one rail.
type RailStatus struct {
	Name    string     `json:"name"`    // as Unplug and Set take it
	Group   string     `json:"group"`   // the cable or segment
	Plugged bool       `json:"plugged"` // false after Unplug
	Model   Model      `json:"model"`
	Ends    [2]RailEnd `json:"ends"`
}

// RailEnd is one end of a rail, with what happens to frames coming from it.
type RailEnd struct {
	Host   string `json:"host,omitempty"` // "" for a switch
	Device string `json:"device,omitempty"`
	MTU    int    `json:"mtu"`
	Link
	Discard bool   `json:"discard,omitempty"`
	Counts  Counts `json:"counts"`
}

// Counts are what became of the frames that came from one end of a rail since
// the lab was built. Out = In + Duplicated - Lost - Discarded - Overflow -
// Unplugged - Missed, frames on the way included. Bytes are those after the Ethernet
// header, of all but Missed frames. Rails of the models direct and tbf have the devices' own counts, of In
// and Out only, and bytes with the Ethernet header.
type Counts struct {
	In         uint64 `json:"in"`
	InBytes    uint64 `json:"in_bytes"`
	Out        uint64 `json:"out"`
	OutBytes   uint64 `json:"out_bytes,omitempty"` // not known of a link model
	Lost       uint64 `json:"lost"`                // by the loss parameter
	Corrupted  uint64 `json:"corrupted"`           // and passed on
	Duplicated uint64 `json:"duplicated"`          // extra copies passed on
	Discarded  uint64 `json:"discarded"`           // while discard was on
	Overflow   uint64 `json:"overflow"`            // the queue was full
	Unplugged  uint64 `json:"unplugged"`           // the other end did not take them: no carrier, or over its MTU
	Missed     uint64 `json:"missed"`              // the relay was too slow: no part of the model
}

// Status gives the lab's present state and counters.
func (l *Lab) Status() Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := Status{Name: l.name, Mode: l.mode, UID: OuterUID(), Simulated: true}
	for _, n := range l.nodes {
		h := HostStatus{Name: n.name, UUID: n.UUID().String(), Rails: n.RailNames()}
		if l.named() {
			h.NetNS = netnsName(l.name, n.name)
		}
		s.Hosts = append(s.Hosts, h)
	}
	for _, k := range l.links {
		s.Rails = append(s.Rails, l.railStatus(k))
	}
	if !l.closed {
		s.Notes = l.plant.notes()
	}
	return s
}

func (l *Lab) railStatus(k *link) RailStatus {
	r := RailStatus{Name: k.name, Group: k.group, Plugged: k.up, Model: k.model}
	var counts [2]Counts
	if !l.closed {
		counts = l.plant.counts(k)
	}
	for side := range k.ends {
		e := &k.ends[side]
		r.Ends[side] = RailEnd{
			Device: e.dev, MTU: e.mtu, Link: k.states[side].Link,
			Discard: k.states[side].Discard, Counts: counts[side],
		}
		if e.node != nil {
			r.Ends[side].Host = e.node.name
		}
	}
	return r
}

// named reports whether the hosts' namespaces show in `ip netns`.
func (l *Lab) named() bool { return l.name != "" && l.mode == ModeNamespaces }
