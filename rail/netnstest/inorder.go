// SPDX-License-Identifier: Apache-2.0

package netnstest

import (
	"testing"
	"unsafe"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// Commands of the kernel's ethtool interface (linux/ethtool.h).
const (
	ethtoolSetTSO = 0x1f
	ethtoolSetGRO = 0x2c
)

// InOrder makes both ends of a veth pair deliver first in, first out, also where
// several CPUs send: a socket's own thread, and the timer of a queue below it.
// Such frames otherwise wait in a backlog of each CPU and overtake each other.
// A veth receives through a single ring where its own GRO is on and the
// sender's TSO is off.
func InOrder(tb testing.TB, ns netns.NsHandle, name string) {
	tb.Helper()
	ethtool(tb, ns, name, ethtoolSetGRO, 1)
	ethtool(tb, ns, name, ethtoolSetTSO, 0)
}

func ethtool(tb testing.TB, ns netns.NsHandle, name string, cmd, data uint32) {
	tb.Helper()
	value := struct{ cmd, data uint32 }{cmd, data}
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
