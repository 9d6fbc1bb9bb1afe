// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"fmt"

	"github.com/google/uuid"

	"github.com/tbnet2/tbnet2/rail"
)

// link is one rail: a cable's, or between a host and a segment's switch.
type link struct {
	index int
	name  string // "cable1.0", "segment1.a"
	group string // the cable's or segment's name; one rate and one fate
	// rateOwner is the link whose budget this one uses: a cable's rails share.
	cable  bool
	model  Model
	ends   [2]end // ends[1].node is nil where it is a switch
	up     bool
	states [2]state // of frames that come from ends[0], and from ends[1]
}

// end is where a link meets a host.
type end struct {
	link *link
	side int
	node *Node
	dev  string // in the host: rail0, rail1, ...
	mac  rail.MAC
	mtu  int
}

// mid is the name of the device that is the end's other side, in the namespace
// of the cables.
func (e *end) mid() string { return fmt.Sprintf("m%d%c", e.link.index, 'a'+e.side) }

// groupID is equal for rails of one cable or segment.
func (k *link) groupID() uint64 {
	var id uint64
	for _, b := range uuid.NewSHA1(uuid.NameSpaceOID, []byte(k.group)) {
		id = id<<8 ^ id>>56 ^ uint64(b)
	}
	return id
}

// plan lays out hosts and links; names and addresses are the same for the same
// topology.
func (l *Lab) plan() {
	for i, h := range l.topo.Hosts {
		l.nodes = append(l.nodes, &Node{lab: l, index: i, name: h.Name})
	}
	for _, c := range l.topo.Cables {
		for i := range c.Rails {
			link := c.Link
			link.Delay += Time(i) * c.Skew
			k := l.addLink(c.Name, fmt.Sprint(i), c.Model, link)
			k.cable = true
			l.addEnd(k, 0, c.A, c.MTU)
			l.addEnd(k, 1, c.B, c.MTUB)
		}
	}
	for _, s := range l.topo.Segments {
		for _, host := range s.Hosts {
			k := l.addLink(s.Name, host, s.Model, s.Link)
			l.addEnd(k, 0, host, s.MTU)
			k.ends[1] = end{link: k, side: 1, mtu: s.MTU}
		}
	}
}

func (l *Lab) addLink(group, name string, m Model, p Link) *link {
	k := &link{index: len(l.links), name: group + "." + name, group: group, model: m, up: true}
	k.states[0].Link, k.states[1].Link = p, p
	l.links = append(l.links, k)
	return k
}

func (l *Lab) addEnd(k *link, side int, host string, mtu int) {
	n := l.Host(host)
	port := len(n.ends)
	k.ends[side] = end{
		link: k, side: side, node: n, mtu: mtu, dev: fmt.Sprintf("rail%d", port),
		mac: rail.MAC{0x02, 0x74, 0x62, 0, byte(n.index), byte(port)},
	}
	n.ends = append(n.ends, &k.ends[side])
}
