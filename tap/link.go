// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/tbnet2/tbnet2/wire"
)

// link is the netdev as netlink sees it. It is known by index, so renaming it
// does no harm. For one goroutine at a time.
type link struct {
	h    *netlink.Handle
	ref  *netlink.GenericLink
	want int // MTU: the configured one, or an administrator's since
	set  int // MTU that was set here last; 0 none
	gso  int // gso_max_size that was set here last; 0 none
}

// setUp gives the device its address, MTU and IP addresses and takes it up. Only
// what differs is set.
func setUp(h *netlink.Handle, c Config) (*link, error) {
	found, err := h.LinkByName(c.Name)
	if err != nil {
		return nil, fmt.Errorf("find the device again: %w", err)
	}
	at := found.Attrs()
	l := &link{h: h, want: c.MTU, ref: &netlink.GenericLink{LinkAttrs: netlink.LinkAttrs{Index: at.Index, Name: at.Name}}}
	if c.MAC != nil && !bytes.Equal(at.HardwareAddr, c.MAC) {
		if err := h.LinkSetHardwareAddr(l.ref, c.MAC); err != nil {
			return nil, fmt.Errorf("set MAC %s: %w", c.MAC, err)
		}
	}
	if err := l.setMTU(at.MTU, c.MTU); err != nil {
		return nil, err
	}
	if at.Flags&net.FlagUp == 0 {
		if err := h.LinkSetUp(l.ref); err != nil {
			return nil, fmt.Errorf("set up: %w", err)
		}
	}
	for _, a := range c.Addrs {
		if err := l.addAddr(a); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// addAddr adds an address. An IPv6 one skips duplicate detection, which would
// keep it from being used until a peer is there.
func (l *link) addAddr(p netip.Prefix) error {
	a := &netlink.Addr{IPNet: &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}}
	if p.Addr().Is6() {
		a.Flags = unix.IFA_F_NODAD
	}
	if err := l.h.AddrReplace(l.ref, a); err != nil {
		return fmt.Errorf("add address %s: %w", p, err)
	}
	return nil
}

func (l *link) setMTU(now, mtu int) error {
	if now != mtu {
		if err := l.h.LinkSetMTU(l.ref, mtu); err != nil {
			return fmt.Errorf("set MTU %d: %w", mtu, err)
		}
	}
	l.set = mtu
	return nil
}

// fit makes MTU and gso_max_size suit packets of up to maxPacket bytes with
// Ethernet header and a VLAN tag. An MTU that an administrator chose since the last time is
// the new wish.
func (l *link) fit(maxPacket int) error {
	now, err := l.h.LinkByIndex(l.ref.Index)
	if err != nil {
		return fmt.Errorf("read the device: %w", err)
	}
	mtu := now.Attrs().MTU
	if mtu != l.set {
		l.want = mtu
	}
	fits := min(l.want, maxPacket-ethLen-vlanLen)
	if fits < MinMTU {
		return fmt.Errorf("the fabric carries packets of %d bytes only, too few for an MTU of %d", maxPacket, MinMTU)
	}
	return errors.Join(l.setMTU(mtu, fits), l.setGSO(min(maxPacket, gsoMax)))
}

// gsoMax is the kernel's limit for a driver that has not asked for more.
const gsoMax = min(65536, wire.PacketMax)

// setGSO bounds superpackets. The kernel cuts what is larger itself, also for
// sockets that were connected before.
func (l *link) setGSO(size int) error {
	if size == l.gso {
		return nil
	}
	if err := l.h.LinkSetGSOMaxSize(l.ref, size); err != nil {
		return fmt.Errorf("set gso_max_size %d: %w", size, err)
	}
	l.gso = size
	// A bound of its own since Linux 6.3; before that the one above holds.
	err := l.h.LinkSetGSOIPv4MaxSize(l.ref, size)
	if err != nil && !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("set gso_ipv4_max_size %d: %w", size, err)
	}
	return nil
}

// dropped is how many frames the kernel could not put into the device's ring.
func (l *link) dropped() uint64 {
	now, err := l.h.LinkByIndex(l.ref.Index)
	if err != nil || now.Attrs().Statistics == nil {
		return 0
	}
	return now.Attrs().Statistics.TxDropped
}
