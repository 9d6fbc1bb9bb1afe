// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// devices are the devices of one namespace.
type devices struct {
	ns *NetNS
	h  *netlink.Handle
}

func openDevices(ns *NetNS) (*devices, error) {
	h, err := netlink.NewHandleAt(netns.NsHandle(ns.Fd()), unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("open netlink: %w", err)
	}
	return &devices{ns: ns, h: h}, nil
}

func (d *devices) close() { d.h.Close() }

// vethEnd is one end of a pair to be made.
type vethEnd struct {
	name string
	mtu  int
	ns   *NetNS
	mac  []byte // nil: random
}

// addVeth makes a veth pair, a in this namespace. Both ends are down.
func (d *devices) addVeth(a, b vethEnd) error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU, attrs.HardwareAddr = a.name, a.mtu, a.mac
	v := netlink.NewVeth(attrs)
	v.PeerName, v.PeerMTU, v.PeerHardwareAddr = b.name, uint32(b.mtu), b.mac
	v.PeerNamespace = netlink.NsFd(b.ns.Fd())
	if err := d.h.LinkAdd(v); err != nil {
		return fmt.Errorf("make veth %s: %w", b.name, err)
	}
	return nil
}

// addBridge makes a bridge that is up, learns addresses and sends no frames of
// its own.
func (d *devices) addBridge(name string, mtu int) error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU = name, mtu
	quiet := false
	if err := d.h.LinkAdd(&netlink.Bridge{LinkAttrs: attrs, MulticastSnooping: &quiet}); err != nil {
		return fmt.Errorf("make bridge %s: %w", name, err)
	}
	return d.setUp(name, true)
}

// enslave makes dev a port of a bridge.
func (d *devices) enslave(dev, bridge string) error {
	link, err := d.h.LinkByName(dev)
	if err != nil {
		return fmt.Errorf("find %s: %w", dev, err)
	}
	master, err := d.h.LinkByName(bridge)
	if err != nil {
		return fmt.Errorf("find %s: %w", bridge, err)
	}
	if err := d.h.LinkSetMaster(link, master); err != nil {
		return fmt.Errorf("make %s a port of %s: %w", dev, bridge, err)
	}
	return nil
}

func (d *devices) setUp(dev string, up bool) error {
	link, err := d.h.LinkByName(dev)
	if err != nil {
		return fmt.Errorf("find %s: %w", dev, err)
	}
	change := d.h.LinkSetDown
	if up {
		change = d.h.LinkSetUp
	}
	if err := change(link); err != nil {
		return fmt.Errorf("set %s up=%v: %w", dev, up, err)
	}
	return nil
}

// stats gives the counters of the device in the host, nil where they cannot be
// read and for a switch.
func (e *end) stats() *netlink.LinkStatistics {
	if e.node == nil {
		return nil
	}
	d, err := openDevices(e.node.ns.net)
	if err != nil {
		return nil
	}
	defer d.close()
	link, err := d.h.LinkByName(e.dev)
	if err != nil {
		return nil
	}
	return link.Attrs().Statistics
}

// Token bucket tuning: a bucket must hold the largest superpacket, and a queue
// a few milliseconds beyond.
const (
	tbfBurst   = 256 << 10 // bytes
	tbfLatency = 5         // ms of queue, where none is given
)

// shape gives dev a token bucket, or takes it away for rate 0.
func (d *devices) shape(dev string, rate Rate, queue Size) error {
	link, err := d.h.LinkByName(dev)
	if err != nil {
		return fmt.Errorf("find %s: %w", dev, err)
	}
	attrs := netlink.QdiscAttrs{LinkIndex: link.Attrs().Index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT}
	if rate == 0 {
		err := d.h.QdiscDel(&netlink.Tbf{QdiscAttrs: attrs})
		if err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EINVAL) {
			return fmt.Errorf("unshape %s: %w", dev, err)
		}
		return nil
	}
	bytes := max(uint64(rate)/8, 1)
	limit := uint64(queue)
	if limit == 0 {
		limit = tbfBurst + bytes*tbfLatency/1000
	}
	tbf := &netlink.Tbf{
		QdiscAttrs: attrs, Rate: bytes, Limit: uint32(min(limit, 1<<31)),
		Buffer: netlink.Xmittime(bytes, tbfBurst),
	}
	if err := d.h.QdiscReplace(tbf); err != nil {
		return fmt.Errorf("shape %s to %s: %w", dev, rate, err)
	}
	return nil
}

// quiet keeps IPv6 off all devices made later in the namespace, so that only
// the hosts' frames cross it.
func (n *NetNS) quiet() error {
	return n.Do(func() error {
		err := os.WriteFile(filepath.Join("/proc/sys/net/ipv6/conf/default/disable_ipv6"), []byte("1"), 0)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("keep IPv6 off the cables: %w", err)
		}
		return nil
	})
}
