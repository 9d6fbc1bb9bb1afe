// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/tbnet2/tbnet2/rail/relay"
)

// netPlant is a lab of network namespaces: one for each host, and one for all
// cables, where the middles of the rails are.
//
//	host a           cables                host b
//	rail0 === m0a  <relay>  m0b         === rail0      relay
//	rail1 === m1a - bridge - m1b        === rail1      tbf
//	rail2 ================================= rail2      direct
//	rail3 === m3a  <relay>  m3b === m3p - bridge       a segment's port
type netPlant struct {
	config
	cables *NetNS
	mid    *devices
	hosts  []*hostNS
	names  []string // in `ip netns`
	relays map[*link]*relay.Relay
	note   []string
}

func newNetPlant(c config) *netPlant {
	return &netPlant{config: c, relays: map[*link]*relay.Relay{}}
}

// build makes everything; what a failure leaves is undone by close.
func (p *netPlant) build(ctx context.Context, l *Lab) error {
	if err := p.addCables(l); err != nil {
		return err
	}
	for _, n := range l.nodes {
		if err := p.addHost(l, n); err != nil {
			return err
		}
	}
	for _, s := range l.topo.Segments {
		if err := p.mid.addBridge(switchName(l, s.Name), s.MTU); err != nil {
			return fmt.Errorf("segment %s: %w", s.Name, err)
		}
	}
	for _, k := range l.links {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := p.addLink(l, k); err != nil {
			return fmt.Errorf("rail %s: %w", k.name, err)
		}
	}
	return p.startRelays(l)
}

func (p *netPlant) addCables(l *Lab) (err error) {
	if p.cables, err = newNetNS(); err != nil {
		return err
	}
	if err := p.cables.quiet(); err != nil {
		return err
	}
	p.mid, err = openDevices(p.cables)
	return err
}

func (p *netPlant) addHost(l *Lab, n *Node) error {
	h, err := newHostNS(n.name, p.stateDir)
	if err != nil {
		return err
	}
	p.hosts = append(p.hosts, h)
	n.ns, n.open = h, p.openRail
	if h.note != "" && len(p.note) == 0 {
		p.note = append(p.note, h.note)
	}
	if !l.named() {
		return nil
	}
	name := netnsName(l.name, n.name)
	if err := nameNetNS(h.net, name); err != nil {
		return err
	}
	p.names = append(p.names, name)
	return nil
}

// switchName is a segment's bridge.
func switchName(l *Lab, segment string) string {
	for i, s := range l.topo.Segments {
		if s.Name == segment {
			return fmt.Sprintf("s%d", i)
		}
	}
	return ""
}

// port is the device of a switch that a link's far middle leads to.
func (k *link) port() string { return fmt.Sprintf("m%dp", k.index) }

// bridge joins the middles of a link of model tbf.
func (k *link) bridge() string { return fmt.Sprintf("b%d", k.index) }

// addLink makes a rail with all its devices up.
func (p *netPlant) addLink(l *Lab, k *link) error {
	if k.model == Direct {
		return p.addDirect(k)
	}
	if err := p.addMiddles(l, k); err != nil {
		return err
	}
	if k.model == TBF {
		if err := p.addBridged(l, k); err != nil {
			return err
		}
	}
	for side := range k.ends {
		if err := p.mid.setUp(k.ends[side].mid(), true); err != nil {
			return err
		}
	}
	return nil
}

// addDirect joins two hosts by one pair, made from the first.
func (p *netPlant) addDirect(k *link) error {
	a, b := &k.ends[0], &k.ends[1]
	d, err := openDevices(a.node.ns.net)
	if err != nil {
		return err
	}
	defer d.close()
	if err := d.addVeth(a.veth(), b.veth()); err != nil {
		return err
	}
	return errors.Join(a.setUp(true), b.setUp(true))
}

// addMiddles makes the pairs between the cables' namespace and the ends.
func (p *netPlant) addMiddles(l *Lab, k *link) error {
	for side := range k.ends {
		e := &k.ends[side]
		far := vethEnd{name: k.port(), mtu: e.mtu, ns: p.cables}
		if e.node != nil {
			far = e.veth()
		}
		mtu := max(k.ends[0].mtu, k.ends[1].mtu)
		if err := p.mid.addVeth(vethEnd{name: e.mid(), mtu: mtu, ns: p.cables}, far); err != nil {
			return err
		}
		if e.node != nil {
			if err := e.setUp(true); err != nil {
				return err
			}
			continue
		}
		if err := p.mid.enslave(k.port(), switchName(l, k.group)); err != nil {
			return err
		}
		if err := p.mid.setUp(k.port(), true); err != nil {
			return err
		}
	}
	return nil
}

// addBridged joins the middles of a link by a bridge and gives them their
// token buckets.
func (p *netPlant) addBridged(l *Lab, k *link) error {
	if err := p.mid.addBridge(k.bridge(), max(k.ends[0].mtu, k.ends[1].mtu)); err != nil {
		return err
	}
	for side := range k.ends {
		if err := p.mid.enslave(k.ends[side].mid(), k.bridge()); err != nil {
			return err
		}
	}
	return p.shape(k, l.share(k))
}

// shape limits each direction where it leaves the bridge.
func (p *netPlant) shape(k *link, rails int) error {
	for side := range k.ends {
		from := k.states[1-side]
		if err := p.mid.shape(k.ends[side].mid(), from.Rate/Rate(rails), from.Queue); err != nil {
			return err
		}
	}
	return nil
}

// share is how many rails divide the rate that a link's state tells.
func (l *Lab) share(k *link) int {
	n := 0
	for _, other := range l.links {
		if other.group == k.group {
			n++
		}
	}
	if !k.cable {
		return 1
	}
	return n
}

// veth is the end in its host.
func (e *end) veth() vethEnd {
	return vethEnd{name: e.dev, mtu: e.mtu, ns: e.node.ns.net, mac: e.mac[:]}
}

func (e *end) setUp(up bool) error {
	d, err := openDevices(e.node.ns.net)
	if err != nil {
		return err
	}
	defer d.close()
	return d.setUp(e.dev, up)
}

// carrier takes the middles down or up, and with them the ends' carrier.
func (p *netPlant) carrier(k *link, up bool) error {
	if k.model == Direct {
		return errors.Join(k.ends[0].setUp(up), k.ends[1].setUp(up))
	}
	return errors.Join(p.mid.setUp(k.ends[0].mid(), up), p.mid.setUp(k.ends[1].mid(), up))
}

func (p *netPlant) notes() []string { return p.note }

// close undoes build from its end: relays, processes, names, namespaces. The
// devices go with the namespaces.
func (p *netPlant) close() error {
	errs := []error{p.stopRelays(), p.reap()}
	for _, name := range p.names {
		errs = append(errs, unnameNetNS(name))
	}
	if p.mid != nil {
		p.mid.close()
	}
	for _, h := range p.hosts {
		errs = append(errs, h.close())
	}
	if p.cables != nil {
		errs = append(errs, p.cables.close())
	}
	if !inUserNamespace() {
		_ = os.Remove(runDir) // made for the hosts to cover; not empty: in use
	}
	return errors.Join(errs...)
}

func (p *netPlant) reap() error {
	inodes := map[uint64]bool{}
	for _, h := range p.hosts {
		inodes[h.net.Inode()] = true
	}
	return reap(inNamespaces(inodes))
}
