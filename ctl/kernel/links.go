// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"fmt"
	"net"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/tbnet2/tbnet2/ctl"
)

// link is what rtnetlink knows of a network device.
type link struct {
	name      string
	mtu       int // bytes
	up        bool
	carrier   bool
	addresses []string // CIDR
}

// links are the devices of a network namespace.
type links interface {
	all() (map[uint32]link, error) // by ifindex
	setMTU(ifindex uint32, mtu int) error
	addAddress(ifindex uint32, cidr string) error
	removeAddress(ifindex uint32, cidr string) error
}

// rtnetlink is the kernel's links.
type rtnetlink struct{ h *netlink.Handle }

func machineLinks() (links, error) {
	h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return nil, ctl.Errorf(ctl.CodeInternal, "rtnetlink: %v", err)
	}
	return &rtnetlink{h}, nil
}

func (r *rtnetlink) all() (map[uint32]link, error) {
	list, err := r.h.LinkList()
	if err != nil {
		return nil, ctl.Errorf(ctl.CodeInternal, "list network devices: %v", err)
	}
	addrs, err := r.h.AddrList(nil, netlink.FAMILY_ALL)
	if err != nil {
		return nil, ctl.Errorf(ctl.CodeInternal, "list addresses: %v", err)
	}
	out := map[uint32]link{}
	for _, l := range list {
		a := l.Attrs()
		out[uint32(a.Index)] = link{name: a.Name, mtu: a.MTU, up: a.Flags&net.FlagUp != 0, carrier: a.RawFlags&unix.IFF_LOWER_UP != 0}
	}
	for _, a := range addrs {
		l := out[uint32(a.LinkIndex)]
		l.addresses = append(l.addresses, a.IPNet.String())
		out[uint32(a.LinkIndex)] = l
	}
	return out, nil
}

// device stands for a device that is only known by its index.
func device(ifindex uint32) netlink.Link {
	return &netlink.Device{LinkAttrs: netlink.LinkAttrs{Index: int(ifindex)}}
}

func (r *rtnetlink) setMTU(ifindex uint32, mtu int) error {
	return changed(r.h.LinkSetMTU(device(ifindex), mtu), "MTU %d", mtu)
}

func (r *rtnetlink) addAddress(ifindex uint32, cidr string) error {
	a, err := netlink.ParseAddr(cidr)
	if err != nil {
		return ctl.Errorf(ctl.CodeInvalid, "address %q: want ADDRESS/PREFIX", cidr)
	}
	return changed(r.h.AddrReplace(device(ifindex), a), "address %s", cidr)
}

func (r *rtnetlink) removeAddress(ifindex uint32, cidr string) error {
	a, err := netlink.ParseAddr(cidr)
	if err != nil {
		return ctl.Errorf(ctl.CodeInvalid, "address %q: want ADDRESS/PREFIX", cidr)
	}
	return changed(r.h.AddrDel(device(ifindex), a), "remove address %s", cidr)
}

// changed gives the error of a change its code.
func changed(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	e := refusal(err)
	return ctl.Errorf(ctl.CodeOf(e), "%s: %v", fmt.Sprintf(format, args...), e)
}
