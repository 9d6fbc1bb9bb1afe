// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// SchemaVersion is that of a topology's JSON form.
const SchemaVersion = 1

// DefaultMTU is what rails get when a topology names none: the most that an
// Ethernet device can have.
const DefaultMTU = 65535

// Topology says what a lab is made of. It is a value: New does not keep it.
type Topology struct {
	Hosts    []Host    `json:"hosts"`
	Cables   []Cable   `json:"cables,omitempty"`
	Segments []Segment `json:"segments,omitempty"`
	Seed     uint64    `json:"seed,omitempty"` // of the link model's randomness
}

// Host is a machine of the lab.
type Host struct {
	Name string `json:"name"`
}

// Model says how a rail is built where there are namespaces.
type Model string

// Models.
const (
	// Relay is veth, a relay that applies the link model, veth. The zero Model
	// means it.
	Relay Model = "relay"
	// Direct is one veth pair, unlimited and without a link model. Its faults
	// are unplug and plug only, and unplugging takes both ends down
	// administratively, since a veth has no other way to lose its carrier.
	Direct Model = "direct"
	// TBF is veth, bridge, veth with the kernel's token bucket on the bridge's
	// ports: a rate (a cable's is divided evenly among its rails) and nothing
	// else. Without a rate there is no bucket.
	TBF Model = "tbf"
)

// Link is the link model of one direction of a cable, or of a segment's port.
type Link struct {
	Rate      Rate  `json:"rate,omitempty"`      // shared by the cable's rails
	Delay     Time  `json:"delay,omitempty"`     // one way
	Jitter    Time  `json:"jitter,omitempty"`    // up to this much more, in order
	Loss      Share `json:"loss,omitempty"`      // of frames
	Burst     int   `json:"burst,omitempty"`     // mean length of a run of lost frames, 0 or 1: single
	Corrupt   Share `json:"corrupt,omitempty"`   // of frames, one bit flipped
	Duplicate Share `json:"duplicate,omitempty"` // of frames
	Queue     Size  `json:"queue,omitempty"`     // bytes waiting per direction, 0: the model's default
}

// Cable joins two hosts with rails that share a rate and a fate.
type Cable struct {
	Name  string `json:"name,omitempty"` // default cable1, cable2, ...
	A     string `json:"a"`              // host
	B     string `json:"b"`              // host
	Rails int    `json:"rails,omitempty"`
	MTU   int    `json:"mtu,omitempty"`
	MTUB  int    `json:"mtu_b,omitempty"` // of the ends at B, default MTU
	Model Model  `json:"model,omitempty"`
	Skew  Time   `json:"skew,omitempty"` // rail n has n times this much more delay
	Link
}

// Segment joins hosts by a switch, each with one rail. The link model is that
// of each port, in each direction.
type Segment struct {
	Name  string   `json:"name,omitempty"` // default segment1, ...
	Hosts []string `json:"hosts"`
	MTU   int      `json:"mtu,omitempty"`
	Model Model    `json:"model,omitempty"` // Relay or TBF
	Link
}

// Pair joins hosts a and b by cables of rails each.
func Pair(cables, railsPerCable int) Topology {
	t := Topology{Hosts: hostNames(2)}
	for range cables {
		t.Cables = append(t.Cables, Cable{A: "a", B: "b", Rails: railsPerCable})
	}
	return t.withDefaults()
}

// Ring joins n hosts in a ring of cables with one rail each.
func Ring(n int) Topology {
	t := Topology{Hosts: hostNames(n)}
	for i := range n {
		if n == 2 && i == 1 {
			break
		}
		t.Cables = append(t.Cables, Cable{A: t.Hosts[i].Name, B: t.Hosts[(i+1)%n].Name, Rails: 1})
	}
	return t.withDefaults()
}

// Mesh joins every two of n hosts by a cable with one rail.
func Mesh(n int) Topology {
	t := Topology{Hosts: hostNames(n)}
	for i := range n {
		for j := i + 1; j < n; j++ {
			t.Cables = append(t.Cables, Cable{A: t.Hosts[i].Name, B: t.Hosts[j].Name, Rails: 1})
		}
	}
	return t.withDefaults()
}

// Switched joins n hosts by switches, each host with one rail to each.
func Switched(n, segments int) Topology {
	t := Topology{Hosts: hostNames(n)}
	var names []string
	for _, h := range t.Hosts {
		names = append(names, h.Name)
	}
	for range segments {
		t.Segments = append(t.Segments, Segment{Hosts: names})
	}
	return t.withDefaults()
}

// With gives t with f applied to the link of every cable and segment.
func (t Topology) With(f func(*Link)) Topology {
	t = t.clone()
	for i := range t.Cables {
		f(&t.Cables[i].Link)
	}
	for i := range t.Segments {
		f(&t.Segments[i].Link)
	}
	return t
}

// ParseTopology reads the JSON form: one object, unknown fields are errors.
// The result is valid and complete, with every default filled in.
func ParseTopology(data []byte) (Topology, error) {
	var file topologyFile
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&file); err != nil {
		return Topology{}, fmt.Errorf("topology: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return Topology{}, fmt.Errorf("topology: something follows the JSON object")
	}
	if file.SchemaVersion != SchemaVersion {
		return Topology{}, fmt.Errorf("topology: schema_version is %d, this program reads %d", file.SchemaVersion, SchemaVersion)
	}
	t := file.Topology.withDefaults()
	return t, t.Validate()
}

// JSON gives the form that ParseTopology reads, indented.
func (t Topology) JSON() ([]byte, error) {
	b, err := json.MarshalIndent(topologyFile{SchemaVersion, t.withDefaults()}, "", "  ")
	return append(b, '\n'), err
}

type topologyFile struct {
	SchemaVersion int `json:"schema_version"`
	Topology
}

// withDefaults gives a deep copy with names, rails, MTUs and models filled in.
func (t Topology) withDefaults() Topology {
	t = t.clone()
	for i := range t.Cables {
		c := &t.Cables[i]
		setDefault(&c.Name, fmt.Sprintf("cable%d", i+1))
		setDefault(&c.Rails, 1)
		setDefault(&c.MTU, DefaultMTU)
		setDefault(&c.MTUB, c.MTU)
		setDefault(&c.Model, Relay)
	}
	for i := range t.Segments {
		s := &t.Segments[i]
		setDefault(&s.Name, fmt.Sprintf("segment%d", i+1))
		setDefault(&s.MTU, DefaultMTU)
		setDefault(&s.Model, Relay)
	}
	return t
}

func setDefault[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}

func (t Topology) clone() Topology {
	t.Hosts = append([]Host(nil), t.Hosts...)
	t.Cables = append([]Cable(nil), t.Cables...)
	t.Segments = append([]Segment(nil), t.Segments...)
	for i := range t.Segments {
		t.Segments[i].Hosts = append([]string(nil), t.Segments[i].Hosts...)
	}
	return t
}

// hostNames gives a, b, ... z, h27, ...
func hostNames(n int) []Host {
	hosts := make([]Host, n)
	for i := range hosts {
		hosts[i].Name = fmt.Sprintf("h%d", i+1)
		if i < 26 {
			hosts[i].Name = string(rune('a' + i))
		}
	}
	return hosts
}
