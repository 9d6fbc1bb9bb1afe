// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// match says how well a name fits a peer.
type match uint8

const (
	matchNone match = iota
	matchStart
	matchExact
)

// matches compares a name with the peer's: a host name, a UUID, the start of
// either; "/N" behind it is the endpoint.
func (p *peer) matches(name string) match {
	if host, endpoint, ok := strings.Cut(name, "/"); ok {
		if n, err := strconv.ParseUint(endpoint, 10, 8); err != nil || uint8(n) != p.id.Endpoint {
			return matchNone
		}
		name = host
	}
	id, lower := p.host.String(), strings.ToLower(name)
	switch {
	case name == "":
		return matchNone
	case name == p.name || lower == id:
		return matchExact
	case strings.HasPrefix(id, lower) || strings.HasPrefix(p.name, name):
		return matchStart
	}
	return matchNone
}

// find gives the peers that a name means, in order: several only where one
// host has several endpoints, or for "", which means all. Fabric.mu is held.
func (f *Fabric) find(name string) ([]*peer, error) {
	best, found := matchNone, []*peer{}
	for _, p := range f.peers {
		m := p.matches(name)
		if name == "" {
			m = matchExact
		}
		if m > best {
			best, found = m, found[:0]
		}
		if m != matchNone && m == best {
			found = append(found, p)
		}
	}
	slices.SortFunc(found, comparePeers)
	switch {
	case len(found) == 0 && name == "":
		return nil, fmt.Errorf("%w: none is connected", ErrNoPeer)
	case len(found) == 0:
		return nil, fmt.Errorf("%w: %q; connected are %s", ErrNoPeer, name, f.peerNames())
	case name != "" && countHosts(found) > 1:
		return nil, fmt.Errorf("%w: %q; use the host's UUID, one of %s", ErrAmbiguous, name, hostsOf(found))
	}
	return found, nil
}

// findOne gives the one peer that a name means.
func (f *Fabric) findOne(name string) (*peer, error) {
	found, err := f.find(name)
	switch {
	case err != nil:
		return nil, err
	case len(found) > 1 && name == "":
		return nil, fmt.Errorf("%w: %s are connected; name one", ErrAmbiguous, f.peerNames())
	case len(found) > 1:
		return nil, fmt.Errorf("%w: %q has several endpoints; add one of them, as in %s/%d", ErrAmbiguous, name, name, found[0].id.Endpoint)
	}
	return found[0], nil
}

func comparePeers(a, b *peer) int {
	return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.host.String(), b.host.String()), cmp.Compare(a.id.Endpoint, b.id.Endpoint))
}

func countHosts(peers []*peer) int {
	hosts := map[uuid.UUID]bool{}
	for _, p := range peers {
		hosts[p.host] = true
	}
	return len(hosts)
}

func hostsOf(peers []*peer) string {
	var ids []string
	for _, p := range peers {
		ids = append(ids, p.host.String())
	}
	return strings.Join(slices.Compact(ids), ", ")
}

// peerNames lists the peers for an error. Fabric.mu is held.
func (f *Fabric) peerNames() string {
	var names []string
	for _, p := range f.peers {
		names = append(names, p.name)
	}
	if len(names) == 0 {
		return "none"
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}
