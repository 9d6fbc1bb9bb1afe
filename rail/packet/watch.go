// SPDX-License-Identifier: Apache-2.0

package packet

import (
	"errors"
	"hash/fnv"
	"time"
	"unsafe"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// resubscribe is how long to wait before the kernel's messages are asked for
// again after that failed.
const resubscribe = 100 * time.Millisecond

// watch follows the device until Close.
func (d *Device) watch() error {
	updates, err := d.subscribe()
	if err != nil {
		return err
	}
	d.done.Add(1)
	go d.follow(updates)
	return nil
}

// subscribe asks for messages about links, the present state first.
func (d *Device) subscribe() (<-chan netlink.LinkUpdate, error) {
	updates := make(chan netlink.LinkUpdate, 16)
	err := netlink.LinkSubscribeWithOptions(updates, d.stop, netlink.LinkSubscribeOptions{
		Namespace: &d.ns, ListExisting: true, ErrorCallback: func(error) {}}) // the channel is closed then
	return updates, err
}

// follow takes messages until Close. When some were lost (the socket's buffer
// was full) it begins anew.
func (d *Device) follow(updates <-chan netlink.LinkUpdate) {
	defer d.done.Done()
	for {
		for u := range updates {
			if int(u.Index) == d.ifindex {
				d.update(u)
			}
		}
		for {
			select {
			case <-d.stop:
				return
			case <-time.After(resubscribe):
			}
			var err error
			if updates, err = d.subscribe(); err == nil {
				d.lookWhetherGone()
				break
			}
		}
	}
}

// lookWhetherGone notes a removal that no message told.
func (d *Device) lookWhetherGone() {
	h, err := netlink.NewHandleAt(d.ns, unix.NETLINK_ROUTE)
	if err != nil {
		return
	}
	defer h.Close()
	if _, err := h.LinkByIndex(d.ifindex); errors.As(err, new(netlink.LinkNotFoundError)) {
		d.lose()
		d.tell()
	}
}

// update takes one message about the device.
func (d *Device) update(u netlink.LinkUpdate) {
	before := d.Info()
	if u.Header.Type == unix.RTM_DELLINK {
		d.lose()
	} else {
		d.see(u.Link.Attrs())
		_ = inNetNS(d.ns, func() error { d.learnSpeed(); return nil })
	}
	after := d.Info()
	if before.MAC != after.MAC {
		d.newMAC.Store(true)
	}
	if before.MTU != after.MTU {
		d.rebuild.Store(true)
		d.rx.Load().interrupt()
	}
	if before != after {
		d.tell()
	}
}

// see takes a device's attributes.
func (d *Device) see(a *netlink.LinkAttrs) {
	d.infoMu.Lock()
	defer d.infoMu.Unlock()
	d.info.Name, d.info.MTU = d.name, min(a.MTU, mtuMost)
	copy(d.info.MAC[:], a.HardwareAddr)
	d.info.Carrier = a.RawFlags&unix.IFF_RUNNING != 0 && a.RawFlags&unix.IFF_UP != 0
	d.carrier.Store(d.info.Carrier)
	d.info.Group = d.group
	if d.group == 0 {
		h := fnv.New64a()
		_, _ = h.Write(a.HardwareAddr)
		d.info.Group = h.Sum64()
	}
}

// lose notes that there is no carrier: the device does not exist any more.
func (d *Device) lose() {
	d.infoMu.Lock()
	defer d.infoMu.Unlock()
	d.info.Carrier = false
	d.carrier.Store(false)
}

// mtuMost is the longest frame that the wire format can tell, in bytes.
const mtuMost = 65535

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
