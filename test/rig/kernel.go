// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// kernelSockets are those of a place's namespace, with the congestion control
// that users run.
type kernelSockets struct {
	node      Place
	multipath bool
}

func (k kernelSockets) DialContext(ctx context.Context, network, address string) (c net.Conn, err error) {
	err = k.node.Do(func() (err error) {
		d := net.Dialer{Control: cubic}
		d.SetMultipathTCP(k.multipath)
		c, err = d.DialContext(ctx, network, address)
		return err
	})
	return c, err
}

func (k kernelSockets) Listen(network, address string) (l net.Listener, err error) {
	err = k.node.Do(func() (err error) {
		c := net.ListenConfig{Control: cubic}
		c.SetMultipathTCP(k.multipath)
		l, err = c.Listen(context.Background(), network, address)
		return err
	})
	return l, err
}

func cubic(_, _ string, c syscall.RawConn) error {
	var inner error
	err := c.Control(func(fd uintptr) {
		inner = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, "cubic")
	})
	return errors.Join(err, inner)
}

// openKernel gives the first rail the host's address.
func (h *Host) openKernel() error {
	h.sock = kernelSockets{node: h.Node}
	return h.address(h.Node.RailNames()[0], h.prefix())
}

// openMPTCP gives every rail an address in a network of its own, and tells the
// kernel's path manager to open a subflow from each.
func (h *Host) openMPTCP() error {
	h.sock = kernelSockets{node: h.Node, multipath: true}
	rails := h.Node.RailNames()
	if err := h.Node.Do(func() error { return setting("mptcp/enabled", "1") }); err != nil {
		return fmt.Errorf("no Multipath TCP here: %w", err)
	}
	host := h.Addr.As4()[3]
	for i, rail := range rails {
		addr := netip.AddrFrom4([4]byte{10, 79, byte(i), host})
		if i == 0 {
			h.Addr = addr
		}
		if err := h.address(rail, netip.PrefixFrom(addr, 24)); err != nil {
			return err
		}
	}
	return h.announce(rails)
}

// announce makes the other rails' addresses known: the listening host signals
// them, the connecting host opens a subflow from each.
func (h *Host) announce(rails []string) error {
	role := "subflow"
	if h.Node.Name() == "b" {
		role = "signal"
	}
	host := h.Addr.As4()[3]
	run := func(args ...string) error {
		cmd, err := h.Node.Command(context.Background(), "ip", args...)
		if err != nil {
			return err
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("ip %v: %w: %s", args, err, out)
		}
		return nil
	}
	n := fmt.Sprint(min(8, len(rails)))
	errs := []error{run("mptcp", "limits", "set", "subflow", n, "add_addr_accepted", n)}
	for i, rail := range rails[1:] {
		errs = append(errs, run("mptcp", "endpoint", "add", fmt.Sprintf("10.79.%d.%d", i+1, host), "dev", rail, role))
	}
	return errors.Join(errs...)
}

// setting writes a value of /proc/sys/net of the calling thread's namespace.
func setting(name, value string) error {
	return os.WriteFile("/proc/sys/net/"+name, []byte(value), 0)
}

// address gives a device of the host an address.
func (h *Host) address(dev string, p netip.Prefix) error {
	nl, err := handle(h.Node)
	if err != nil {
		return err
	}
	defer nl.Close()
	link, err := nl.LinkByName(dev)
	if err != nil {
		return fmt.Errorf("%s: %w", dev, err)
	}
	ip := &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
	if err := nl.AddrAdd(link, &netlink.Addr{IPNet: ip}); err != nil {
		return fmt.Errorf("%s: address %s: %w", dev, p, err)
	}
	return nil
}

// handle speaks netlink in a place's network namespace.
func handle(p Place) (*netlink.Handle, error) {
	if fd := netnsFd(p); fd != 0 {
		return netlink.NewHandleAt(netns.NsHandle(fd), unix.NETLINK_ROUTE)
	}
	return netlink.NewHandle(unix.NETLINK_ROUTE)
}
