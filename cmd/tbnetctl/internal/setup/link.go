// SPDX-License-Identifier: Apache-2.0

// Package setup brings a machine's devices into the state that the daemon
// wants, and back: what `tbnetctl up` and `down` do. MakePlan decides and
// changes nothing; Plan.Apply changes and undoes itself where it fails.
package setup

import (
	"encoding/binary"
	"fmt"
	"strings"
	"syscall"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Link is a network device.
type Link struct {
	Name   string
	Kind   string // rtnl kind, "veth", "tun"; empty for hardware
	Path   string // domain and route of its cable, "0-1"; empty where it has none
	MTU    int    // bytes
	MaxMTU int    // bytes, 0 unknown
	Up     bool
	Loop   bool
}

// Thunderbolt tells whether the device is a cable's.
func (l Link) Thunderbolt() bool { return l.Path != "" || strings.HasPrefix(l.Name, "thunderbolt") }

// Links reads and changes network devices; Kernel is the real one.
type Links interface {
	List() ([]Link, error)
	SetMTU(name string, mtu int) error
	SetUp(name string, up bool) error
	Delete(name string) error
}

// Kernel is the Links of the calling thread's network namespace.
type Kernel struct{}

// List implements Links.
func (Kernel) List() ([]Link, error) {
	req := nl.NewNetlinkRequest(unix.RTM_GETLINK, unix.NLM_F_DUMP)
	req.AddData(nl.NewIfInfomsg(unix.AF_UNSPEC))
	msgs, err := req.Execute(unix.NETLINK_ROUTE, unix.RTM_NEWLINK)
	if err != nil {
		return nil, fmt.Errorf("list network devices: %w", err)
	}
	var out []Link
	for _, m := range msgs {
		l, err := parseLink(m)
		if err != nil {
			return nil, err
		}
		l.Path = cablePath(l.Name)
		out = append(out, l)
	}
	return out, nil
}

func parseLink(m []byte) (Link, error) {
	info := nl.DeserializeIfInfomsg(m)
	attrs, err := nl.ParseRouteAttr(m[info.Len():])
	if err != nil {
		return Link{}, fmt.Errorf("read a network device: %w", err)
	}
	l := Link{Up: info.Flags&unix.IFF_UP != 0, Loop: info.Flags&unix.IFF_LOOPBACK != 0}
	for _, a := range attrs {
		switch a.Attr.Type {
		case unix.IFLA_IFNAME:
			l.Name = cString(a.Value)
		case unix.IFLA_MTU:
			l.MTU = int(binary.NativeEndian.Uint32(a.Value))
		case unix.IFLA_MAX_MTU:
			l.MaxMTU = int(binary.NativeEndian.Uint32(a.Value))
		case unix.IFLA_LINKINFO:
			l.Kind = linkKind(a)
		}
	}
	return l, nil
}

func linkKind(info syscall.NetlinkRouteAttr) string {
	attrs, err := nl.ParseRouteAttr(info.Value)
	if err != nil {
		return ""
	}
	for _, a := range attrs {
		if a.Attr.Type == nl.IFLA_INFO_KIND {
			return cString(a.Value)
		}
	}
	return ""
}

func cString(b []byte) string {
	s, _, _ := strings.Cut(string(b), "\x00")
	return s
}

// SetMTU implements Links.
func (Kernel) SetMTU(name string, mtu int) error {
	l, err := netlink.LinkByName(name)
	if err == nil {
		err = netlink.LinkSetMTU(l, mtu)
	}
	if err != nil {
		return fmt.Errorf("set the MTU of %s to %d: %w", name, mtu, err)
	}
	return nil
}

// SetUp implements Links.
func (Kernel) SetUp(name string, up bool) error {
	l, err := netlink.LinkByName(name)
	if err == nil && up {
		err = netlink.LinkSetUp(l)
	} else if err == nil {
		err = netlink.LinkSetDown(l)
	}
	if err != nil {
		return fmt.Errorf("set %s %s: %w", name, map[bool]string{true: "up", false: "down"}[up], err)
	}
	return nil
}

// Delete implements Links. A device that is not there is no error.
func (Kernel) Delete(name string) error {
	l, err := netlink.LinkByName(name)
	if _, missing := err.(netlink.LinkNotFoundError); missing {
		return nil
	}
	if err == nil {
		err = netlink.LinkDel(l)
	}
	if err != nil {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	return nil
}
