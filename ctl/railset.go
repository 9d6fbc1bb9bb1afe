// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// WeightMax bounds a rail's weight.
const WeightMax = 1000

// RailSet is an order to use just these rails. Exactly one of Rails and Count
// is given.
type RailSet struct {
	Target string       `json:"target"` // a peer's name or UUID, or a bond's name for all its peers
	Rails  []RailChoice `json:"rails,omitempty"`
	Count  int          `json:"count,omitempty"` // the best this many rails
}

// RailChoice is a rail and its share; Weight 0 is the share its measured rate
// gives it.
type RailChoice struct {
	Name   string `json:"name"`
	Weight int    `json:"weight,omitempty"`
}

// RailsInUse answers a RailSet: the rails now in use, by peer.
type RailsInUse struct {
	SchemaVersion int         `json:"schema_version"`
	Peers         []PeerRails `json:"peers"`
}

// PeerRails are the rails in use towards one peer.
type PeerRails struct {
	Peer  string       `json:"peer"`
	Rails []RailChoice `json:"rails"`
}

// ParseRails reads a list such as "tbr0,tbr1=2". The error names the item.
func ParseRails(list string) ([]RailChoice, error) {
	var out []RailChoice
	for i, item := range strings.Split(list, ",") {
		choice, err := parseRail(item)
		if err != nil {
			return nil, Errorf(CodeInvalid, "rail list %q, item %d: %v", list, i+1, err)
		}
		if slices.ContainsFunc(out, func(c RailChoice) bool { return c.Name == choice.Name }) {
			return nil, Errorf(CodeInvalid, "rail list %q, item %d: %s is named twice", list, i+1, choice.Name)
		}
		out = append(out, choice)
	}
	return out, nil
}

func parseRail(item string) (RailChoice, error) {
	name, weight, weighted := strings.Cut(strings.TrimSpace(item), "=")
	if name == "" {
		return RailChoice{}, fmt.Errorf("no rail name in %q (want NAME or NAME=WEIGHT)", item)
	}
	if strings.ContainsAny(name, " \t/") {
		return RailChoice{}, fmt.Errorf("%q is no rail name", name)
	}
	if !weighted {
		return RailChoice{Name: name}, nil
	}
	w, err := strconv.Atoi(weight)
	if err != nil || w < 1 || w > WeightMax {
		return RailChoice{}, fmt.Errorf("weight %q of %s is not a number from 1 to %d", weight, name, WeightMax)
	}
	return RailChoice{Name: name, Weight: w}, nil
}

// Resolve checks set against s and gives the rails for each peer it is about.
// With Count it picks the best rails of each peer: up before others, then the
// fastest, then by name. Nothing is changed.
func (s *Status) Resolve(set RailSet) ([]PeerRails, error) {
	peers, err := s.targets(set.Target)
	if err != nil {
		return nil, err
	}
	if (len(set.Rails) > 0) == (set.Count != 0) {
		return nil, Errorf(CodeInvalid, "name the rails or a count, one of the two")
	}
	if set.Count != 0 {
		return s.pickAll(peers, set.Count)
	}
	return s.assign(peers, set.Rails)
}

func (s *Status) targets(target string) ([]*Peer, error) {
	if p, ok := s.Peer(target); ok {
		return []*Peer{p}, nil
	}
	bond, ok := s.Bond(target)
	if !ok {
		return nil, Errorf(CodeNotFound, "no peer or bond %q (there are: %s)", target, s.targetNames())
	}
	var out []*Peer
	for _, name := range bond.Peers {
		if p, ok := s.Peer(name); ok {
			out = append(out, p)
		}
	}
	if len(out) == 0 {
		return nil, Errorf(CodeNotFound, "bond %s has no peer yet", target)
	}
	return out, nil
}

func (s *Status) targetNames() string {
	var names []string
	for _, b := range s.Bonds {
		names = append(names, b.Name)
	}
	for _, p := range s.Peers {
		names = append(names, cmp.Or(p.Name, p.UUID))
	}
	return orNone(names)
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// assign gives every named rail to the peers at its end.
func (s *Status) assign(peers []*Peer, rails []RailChoice) ([]PeerRails, error) {
	out := make([]PeerRails, len(peers))
	for i, p := range peers {
		out[i].Peer = cmp.Or(p.Name, p.UUID)
	}
	seen := map[string]bool{}
	for _, c := range rails {
		if seen[c.Name] {
			return nil, Errorf(CodeInvalid, "rail %s is named twice", c.Name)
		}
		seen[c.Name] = true
		if c.Weight < 0 || c.Weight > WeightMax {
			return nil, Errorf(CodeInvalid, "weight %d of rail %s is not from 1 to %d", c.Weight, c.Name, WeightMax)
		}
		found := false
		for i, p := range peers { // several, where the rail's device is on a switch
			if slices.Contains(p.Rails, c.Name) {
				out[i].Rails = append(out[i].Rails, c)
				found = true
			}
		}
		if !found {
			return nil, s.notTheirs(c.Name, peers)
		}
	}
	for i := range out {
		if len(out[i].Rails) == 0 {
			return nil, Errorf(CodeInvalid, "no rail to %s in the list: it would be cut off", out[i].Peer)
		}
	}
	return out, nil
}

func (s *Status) notTheirs(rail string, peers []*Peer) error {
	if r, ok := s.Rail(rail); ok && r.Peer != "" && len(peers) == 1 {
		return Errorf(CodeInvalid, "rail %s leads to %s, not to %s", rail, r.Peer, cmp.Or(peers[0].Name, peers[0].UUID))
	}
	var names []string
	for _, p := range peers {
		names = append(names, p.Rails...)
	}
	return Errorf(CodeNotFound, "no rail %q here (there are: %s)", rail, orNone(names))
}

func (s *Status) pickAll(peers []*Peer, count int) ([]PeerRails, error) {
	var out []PeerRails
	for _, p := range peers {
		rails, err := s.pick(p, count)
		if err != nil {
			return nil, err
		}
		out = append(out, PeerRails{Peer: cmp.Or(p.Name, p.UUID), Rails: rails})
	}
	return out, nil
}

func (s *Status) pick(p *Peer, count int) ([]RailChoice, error) {
	if count < 1 || count > len(p.Rails) {
		return nil, Errorf(CodeInvalid, "count %d: %s has %d rails (%s)", count, cmp.Or(p.Name, p.UUID), len(p.Rails), orNone(p.Rails))
	}
	var rails []*Rail
	for _, name := range p.Rails {
		if r, ok := s.railTo(p, name); ok {
			rails = append(rails, r)
		}
	}
	slices.SortFunc(rails, better)
	out := make([]RailChoice, 0, count)
	for _, r := range rails[:min(count, len(rails))] {
		out = append(out, RailChoice{Name: r.Name, Weight: r.Weight})
	}
	return out, nil
}

func better(a, b *Rail) int {
	rank := func(r *Rail) int {
		switch {
		case !r.Enabled:
			return 2
		case r.State == RailUp:
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(max(b.LinkBPS, b.RateBPS), max(a.LinkBPS, a.RateBPS)), cmp.Compare(a.Name, b.Name))
}
