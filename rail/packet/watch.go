// SPDX-License-Identifier: Apache-2.0

package packet

import (
	"hash/fnv"
	"unsafe"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/tbnet2/tbnet2/rail"
)

// watch follows the device until Close.
func (d *Device) watch() error {
	updates := make(chan netlink.LinkUpdate, 16)
	err := netlink.LinkSubscribeWithOptions(updates, d.stop, netlink.LinkSubscribeOptions{
		Namespace: &d.ns, ListExisting: true, ErrorCallback: func(error) {}})
	if err != nil {
		return err
	}
	d.done.Add(1)
	go func() {
		defer d.done.Done()
		for u := range updates { // the subscription closes it after stop
			if int(u.Index) == d.ifindex {
				d.update(u)
			}
		}
	}()
	return nil
}

// update takes one message about the device.
func (d *Device) update(u netlink.LinkUpdate) {
	before := d.Info()
	if u.Header.Type == unix.RTM_DELLINK {
		d.setGone()
	} else {
		d.see(u.Link.Attrs())
		_ = inNetNS(d.ns, func() error { d.learnSpeed(); return nil })
	}
	after := d.Info()
	if before == after {
		return
	}
	if before.MTU != after.MTU {
		d.rebuild.Store(true)
		d.wake()
	}
	select {
	case d.changed <- struct{}{}:
	default: // a value is waiting already
	}
}

// see takes a device's attributes.
func (d *Device) see(a *netlink.LinkAttrs) {
	d.infoMu.Lock()
	defer d.infoMu.Unlock()
	d.info.Name, d.info.MTU = d.name, min(a.MTU, mtuMost)
	copy(d.info.MAC[:], a.HardwareAddr)
	d.info.Carrier = a.RawFlags&unix.IFF_RUNNING != 0 && a.RawFlags&unix.IFF_UP != 0
	d.info.Group = d.group
	if d.group == 0 {
		h := fnv.New64a()
		_, _ = h.Write(a.HardwareAddr)
		d.info.Group = h.Sum64()
	}
}

// mtuMost is the longest frame that the wire format can tell, in bytes.
const mtuMost = 65535

// setGone notes that the device does not exist any more: no carrier, for good.
func (d *Device) setGone() {
	d.infoMu.Lock()
	defer d.infoMu.Unlock()
	d.gone, d.info.Carrier = true, false
}

// ethtoolCmd is struct ethtool_cmd (linux/ethtool.h).
type ethtoolCmd struct {
	cmd, supported, advertising uint32
	speed                       uint16
	duplex, port, phy, trx      uint8
	autoneg, mdio               uint8
	maxTx, maxRx                uint32
	speedHi                     uint16
	_                           [14]byte
}

// ifreqEthtool is struct ifreq with a pointer.
type ifreqEthtool struct {
	name [unix.IFNAMSIZ]byte
	data unsafe.Pointer
	_    [16]byte
}

// learnSpeed asks the driver for the link's speed. The thread is in the
// device's namespace.
func (d *Device) learnSpeed() {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	const getSettings = 1 // ETHTOOL_GSET: old, and every driver is asked through it
	cmd := ethtoolCmd{cmd: getSettings}
	req := ifreqEthtool{data: unsafe.Pointer(&cmd)}
	copy(req.name[:unix.IFNAMSIZ-1], d.name)
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&req)))
	mbps := uint64(cmd.speedHi)<<16 | uint64(cmd.speed)
	if errno != 0 || mbps == 0 || mbps >= 1<<32-1 || mbps == 0xffff {
		mbps = 0
	}
	d.infoMu.Lock()
	defer d.infoMu.Unlock()
	d.info.Rate = mbps * 1_000_000
}

var _ rail.Device = (*Device)(nil)
