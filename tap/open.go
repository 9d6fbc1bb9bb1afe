// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

const clonePath = "/dev/net/tun"

// Errors that callers branch on; Open wraps them with the device's name.
var (
	ErrNotTAP = errors.New("the name belongs to a device that is no TAP: choose another name, or delete that device")
	ErrBusy   = errors.New("the device is in use by another program: stop that one, or choose another name")
	ErrNoTUN  = errors.New("the kernel has no TUN/TAP driver: run `modprobe tun`")
)

// Open makes the device, or takes over a persistent one of that name with its
// ifindex and addresses, and sets it up, without carrier. It needs CAP_NET_ADMIN. A
// device that was made here is gone again when Open fails.
func Open(c Config) (*Device, error) {
	c = c.withDefaults()
	if err := c.check(); err != nil {
		return nil, err
	}
	d, err := inNamespace(c.NetNS, func() (*Device, error) { return open(c) })
	if err != nil {
		return nil, fmt.Errorf("tap %s: %w", c.Name, err)
	}
	return d, nil
}

// Remove deletes a persistent device, from the calling thread's network
// namespace or the one of descriptor ns. One that does not exist is no error.
func Remove(name string, ns int) error {
	_, err := inNamespace(ns, func() (*Device, error) {
		h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
		if err != nil {
			return nil, err
		}
		defer h.Close()
		link, err := existing(h, name)
		if err != nil || link == nil {
			return nil, err
		}
		return nil, h.LinkDel(link)
	})
	if err != nil {
		return fmt.Errorf("tap %s: remove: %w", name, err)
	}
	return nil
}

// inNamespace runs f in the namespace of descriptor ns; 0 is the caller's.
// The thread used for another one ends with its goroutine.
func inNamespace(ns int, f func() (*Device, error)) (*Device, error) {
	if ns <= 0 {
		return f()
	}
	type result struct {
		d   *Device
		err error
	}
	done := make(chan result)
	go func() {
		runtime.LockOSThread()
		if err := netns.Set(netns.NsHandle(ns)); err != nil {
			done <- result{nil, fmt.Errorf("enter network namespace: %w", err)}
			return
		}
		d, err := f()
		done <- result{d, err}
	}()
	r := <-done
	return r.d, r.err
}

func open(c Config) (_ *Device, err error) {
	h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("open netlink: %w", err)
	}
	defer func() {
		if err != nil {
			h.Close()
		}
	}()
	if _, err := existing(h, c.Name); err != nil {
		return nil, err
	}
	file, err := openFile(c)
	if err != nil {
		return nil, err
	}
	l, err := setUp(h, c)
	if err == nil && c.Persist {
		err = persist(file)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return newDevice(c, file, l)
}

// existing gives the TAP of that name, nil if there is none, and an error if
// the name is something else's.
func existing(h *netlink.Handle, name string) (netlink.Link, error) {
	link, err := h.LinkByName(name)
	if errors.As(err, new(netlink.LinkNotFoundError)) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for the device: %w", err)
	}
	if t, ok := link.(*netlink.Tuntap); !ok || t.Mode != netlink.TUNTAP_MODE_TAP {
		return nil, fmt.Errorf("%w (it is of kind %q)", ErrNotTAP, link.Type())
	}
	return link, nil
}

// openFile attaches to the device. It must not reach the runtime's poller
// before TUNSETIFF: a descriptor without a device polls as an error.
func openFile(c Config) (*os.File, error) {
	fd, err := unix.Open(clonePath, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, openError(err)
	}
	if err := configure(fd, c); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), clonePath), nil
}

func openError(err error) error {
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENXIO), errors.Is(err, unix.ENODEV):
		return fmt.Errorf("open %s: %w", clonePath, ErrNoTUN)
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return fmt.Errorf("open %s: %w: run as root, or give this user access to it", clonePath, err)
	}
	return fmt.Errorf("open %s: %w", clonePath, err)
}

// configure is all that is set on the descriptor.
func configure(fd int, c Config) error {
	req, err := unix.NewIfreq(c.Name)
	if err != nil {
		return err
	}
	// Kernels before 6.2 do not know IFF_NO_CARRIER and ignore it; there the
	// carrier shows for the moment until TUNSETCARRIER below.
	req.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI | unix.IFF_VNET_HDR | unix.IFF_NO_CARRIER)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, req); err != nil {
		return attachError(err)
	}
	if err := setCarrier(fd, false); err != nil {
		return err
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TUNSETVNETHDRSZ, vnetLen); err != nil {
		return fmt.Errorf("TUNSETVNETHDRSZ: %w", err)
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TUNSETVNETLE, 1); err != nil {
		return fmt.Errorf("TUNSETVNETLE: %w", err)
	}
	const offloads = unix.TUN_F_CSUM | unix.TUN_F_TSO4 | unix.TUN_F_TSO6
	if err := unix.IoctlSetInt(fd, unix.TUNSETOFFLOAD, offloads|unix.TUN_F_TSO_ECN); err != nil {
		if err = unix.IoctlSetInt(fd, unix.TUNSETOFFLOAD, offloads); err != nil {
			return fmt.Errorf("TUNSETOFFLOAD: %w", err)
		}
	}
	return setOwner(fd, c)
}

func attachError(err error) error {
	switch {
	case errors.Is(err, unix.EBUSY):
		return ErrBusy
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("attach: %w: run as root (CAP_NET_ADMIN), or make the device for this user with `ip tuntap add mode tap user ...`", err)
	case errors.Is(err, unix.EINVAL):
		return fmt.Errorf("attach: %w: the device there is of another mode (multi_queue?): delete it with `ip link delete`", err)
	}
	return fmt.Errorf("attach: %w", err)
}

func setOwner(fd int, c Config) error {
	if c.Owner != 0 {
		if err := unix.IoctlSetInt(fd, unix.TUNSETOWNER, c.Owner); err != nil {
			return fmt.Errorf("set owner %d: %w", c.Owner, err)
		}
	}
	if c.Group != 0 {
		if err := unix.IoctlSetInt(fd, unix.TUNSETGROUP, c.Group); err != nil {
			return fmt.Errorf("set group %d: %w", c.Group, err)
		}
	}
	return nil
}

func persist(file *os.File) error {
	return control(file, func(fd int) error {
		if err := unix.IoctlSetInt(fd, unix.TUNSETPERSIST, 1); err != nil {
			return fmt.Errorf("make persistent: %w", err)
		}
		return nil
	})
}

// setCarrier needs Linux 5.0.
func setCarrier(fd int, on bool) error {
	var v uint32
	if on {
		v = 1
	}
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TUNSETCARRIER, uintptr(unsafe.Pointer(&v)))
	if errno != 0 {
		return fmt.Errorf("set carrier: %w", errno)
	}
	return nil
}

func control(file *os.File, f func(fd int) error) error {
	conn, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if err := conn.Control(func(fd uintptr) { inner = f(int(fd)) }); err != nil {
		return err
	}
	return inner
}
