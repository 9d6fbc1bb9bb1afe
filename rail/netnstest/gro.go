// SPDX-License-Identifier: Apache-2.0

package netnstest

import (
	"testing"
	"unsafe"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// GRO turns generic receive offload of a device on or off. A veth with it on
// receives through a ring of its own, first in, first out; with it off, frames
// sent from several CPUs overtake each other.
func GRO(tb testing.TB, ns netns.NsHandle, name string, on bool) {
	tb.Helper()
	const setGRO = 0x2c // ETHTOOL_SGRO
	value := struct{ cmd, data uint32 }{cmd: setGRO}
	if on {
		value.data = 1
	}
	req := struct {
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [16]byte
	}{data: unsafe.Pointer(&value)}
	copy(req.name[:unix.IFNAMSIZ-1], name)
	Do(tb, ns, func() error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&req)))
		if errno != 0 {
			return errno
		}
		return nil
	})
}
