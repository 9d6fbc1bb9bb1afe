// SPDX-License-Identifier: Apache-2.0

package packet

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Commands of SIOCETHTOOL (linux/ethtool.h).
const (
	ethtoolGSet  = 0x01 // settings: old, and every driver is asked through it
	ethtoolGLink = 0x0a
)

// ethtoolCmd is struct ethtool_cmd.
type ethtoolCmd struct {
	cmd, supported, advertising uint32
	speed                       uint16
	duplex, port, phy, trx      uint8
	autoneg, mdio               uint8
	maxTx, maxRx                uint32
	speedHi                     uint16
	_                           [14]byte
}

// ethtoolValue is struct ethtool_value.
type ethtoolValue struct {
	cmd, data uint32
}

// ifreqEthtool is struct ifreq with a pointer.
type ifreqEthtool struct {
	name [unix.IFNAMSIZ]byte
	data unsafe.Pointer
	_    [16]byte
}

// ethtool asks the driver. The sending socket is in the device's namespace.
func (d *Device) ethtool(data unsafe.Pointer) (errno unix.Errno) {
	req := ifreqEthtool{data: data}
	copy(req.name[:unix.IFNAMSIZ-1], d.name)
	err := d.tx.raw.Control(func(fd uintptr) {
		_, _, errno = unix.Syscall(unix.SYS_IOCTL, fd, unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&req)))
	})
	if err != nil {
		return unix.EBADF
	}
	return errno
}

// hasLink asks whether there is a carrier. Where the driver does not say, it
// is what was seen last.
func (d *Device) hasLink() bool {
	v := ethtoolValue{cmd: ethtoolGLink}
	if d.ethtool(unsafe.Pointer(&v)) != 0 {
		return d.carrier.Load()
	}
	return v.data != 0
}

// learnSpeed asks for the link's speed; 0 where the driver does not say.
func (d *Device) learnSpeed() {
	cmd := ethtoolCmd{cmd: ethtoolGSet}
	errno := d.ethtool(unsafe.Pointer(&cmd))
	mbps := uint64(cmd.speedHi)<<16 | uint64(cmd.speed)
	if errno != 0 || mbps == 1<<32-1 || mbps == 0xffff { // SPEED_UNKNOWN, old and new
		mbps = 0
	}
	d.infoMu.Lock()
	defer d.infoMu.Unlock()
	d.info.Rate = mbps * 1_000_000
}
