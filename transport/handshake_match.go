// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bytes"
	"cmp"
	"slices"
)

// remote identifies a device of another host. Two cables may end in devices of
// one MAC; their groups differ then.
type remote struct {
	mac   [6]byte
	group uint64
}

func (r remote) compare(s remote) int {
	return cmp.Or(bytes.Compare(r.mac[:], s.mac[:]), cmp.Compare(r.group, s.group))
}

// edge is a remote device seen on a local one: a rail that could be.
type edge struct {
	device   DeviceID
	remote   remote
	nonce    uint64 // of its last HELLO
	helloIdx uint32 // that a HELLO_ACK carries
	seenAt   Time
	used     uint64 // serial of the nonce that made the last change
	asked    Time   // of the first HELLO_ACK that was not confirmed; Never
	doubtful Time   // until then other pairs go first
}

// pair is an edge as matchPairs sees it.
type pair struct {
	device   DeviceID
	remote   remote
	held     bool // kept unless moving it gives one more rail
	doubtful bool // only where nothing else is
}

// matching is the work of matchPairs: which pair each device and each remote
// is in, -1 for none.
type matching struct {
	pairs   []pair
	devices []int // pair of the device of each pair
	remotes []int // pair of the remote of each pair
	visited []bool
}

// matchPairs chooses pairs so that each device and each remote is in one at
// most, and as many are used as can be. What is held stays where that costs
// nothing; the rest is by order of device and remote. It gives the chosen.
func matchPairs(pairs []pair) []bool {
	m := matching{pairs: pairs, devices: make([]int, len(pairs)), remotes: make([]int, len(pairs))}
	for i := range pairs {
		m.devices[i], m.remotes[i] = -1, -1
	}
	for i := range pairs {
		if pairs[i].held && m.devices[m.device(i)] < 0 && m.remotes[m.remote(i)] < 0 {
			m.choose(i)
		}
	}
	for _, doubtful := range []bool{false, true} {
		for i := range pairs {
			if m.device(i) == i && m.devices[i] < 0 {
				m.visited = make([]bool, len(pairs))
				m.augment(i, doubtful)
			}
		}
	}
	chosen := make([]bool, len(pairs))
	for i := range pairs {
		chosen[i] = m.devices[m.device(i)] == i
	}
	return chosen
}

// device gives the first pair with the device of pair i, which stands for it.
func (m *matching) device(i int) int {
	return slices.IndexFunc(m.pairs, func(p pair) bool { return p.device == m.pairs[i].device })
}

// remote gives the first pair with the remote of pair i, which stands for it.
func (m *matching) remote(i int) int {
	return slices.IndexFunc(m.pairs, func(p pair) bool { return p.remote == m.pairs[i].remote })
}

func (m *matching) choose(i int) { m.devices[m.device(i)], m.remotes[m.remote(i)] = i, i }

// augment finds a remote for a device: a free one, or one whose own device can
// be moved.
func (m *matching) augment(device int, doubtful bool) bool {
	for _, free := range []bool{true, false} {
		for i := range m.pairs {
			r := m.remote(i)
			if m.device(i) != device || m.pairs[i].doubtful && !doubtful || m.visited[r] || free != (m.remotes[r] < 0) {
				continue
			}
			m.visited[r] = true
			if free || m.augment(m.device(m.remotes[r]), doubtful) {
				m.choose(i)
				return true
			}
		}
	}
	return false
}

// match chooses the rails of an association that is ours to decide: what is
// newly chosen gets a rail, offered until it is confirmed, and an offer that
// is no longer chosen is withdrawn.
func (h *Handshake) match(now Time, p *peer, a *hsAssociation) {
	slices.SortFunc(a.edges, func(e, f *edge) int {
		return cmp.Or(cmp.Compare(e.device, f.device), e.remote.compare(f.remote))
	})
	pairs := make([]pair, len(a.edges))
	for i, e := range a.edges {
		r := a.railOf(e.device, e.remote)
		pairs[i] = pair{device: e.device, remote: e.remote, doubtful: now < e.doubtful,
			held: r != nil && (r.made && r.heard || now >= e.doubtful)}
	}
	for i, chosen := range matchPairs(pairs) {
		e := a.edges[i]
		r := a.railOf(e.device, e.remote)
		switch {
		case chosen && r == nil:
			a.newRail(e)
		case !chosen && r != nil && !r.made:
			a.freeRail(r)
		}
	}
}
