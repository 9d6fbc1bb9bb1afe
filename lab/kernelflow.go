// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// kernelFlow makes a TCP connection of the hosts' kernels over one rail, with
// addresses for as long as it lasts. Congestion control is cubic: the machine's
// default may hide losses.
func (l *Lab) kernelFlow(ctx context.Context, from, to *Node, rail string) (f flow, err error) {
	if l.mode == ModeMemory {
		return f, errors.New("hosts in memory have no kernel's TCP; use the fabric")
	}
	a, b, err := commonRail(from, to, rail)
	if err != nil {
		return f, err
	}
	src, dst := flowAddr(a.link.index, 1), flowAddr(a.link.index, 2)
	undo := []func() error{}
	f.done = func() error {
		var errs []error
		for _, u := range undo {
			errs = append(errs, u())
		}
		return errors.Join(errs...)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.done())
		}
	}()
	for _, x := range []struct {
		e    *end
		addr *net.IPNet
	}{{a, src}, {b, dst}} {
		if err := x.e.address(x.addr, true); err != nil {
			return f, err
		}
		undo = append(undo, func() error { return x.e.address(x.addr, false) })
	}
	err = f.connect(ctx, from, to, src.IP, dst.IP)
	return f, err
}

// flowAddr is from the range that is set aside for benchmarks (RFC 2544).
func flowAddr(link, side int) *net.IPNet {
	return &net.IPNet{IP: net.IPv4(198, 18, byte(link>>6), byte(link<<2+side)), Mask: net.CIDRMask(30, 32)}
}

// commonRail finds devices of two hosts on one cable or segment.
func commonRail(from, to *Node, rail string) (a, b *end, err error) {
	for _, a := range from.ends {
		if rail != "" && a.link.name != rail && a.link.group != rail {
			continue
		}
		for _, b := range to.ends {
			if a.link == b.link || !a.link.cable && !b.link.cable && a.link.group == b.link.group {
				return a, b, nil
			}
		}
	}
	if rail != "" {
		return nil, nil, fmt.Errorf("%q does not join hosts %s and %s", rail, from.name, to.name)
	}
	return nil, nil, fmt.Errorf("no cable or segment joins hosts %s and %s", from.name, to.name)
}

// address adds an address to the device, or takes it away.
func (e *end) address(addr *net.IPNet, add bool) error {
	d, err := openDevices(e.node.ns.net)
	if err != nil {
		return err
	}
	defer d.close()
	link, err := d.h.LinkByName(e.dev)
	if err != nil {
		return fmt.Errorf("host %s: find %s: %w", e.node.name, e.dev, err)
	}
	change := d.h.AddrDel
	if add {
		change = d.h.AddrAdd
	}
	if err := change(link, &netlink.Addr{IPNet: addr}); err != nil {
		return fmt.Errorf("host %s: address %s on %s: %w", e.node.name, addr, e.dev, err)
	}
	return nil
}

// connect joins src to dst. Listening and dialling make their sockets on the
// calling thread, and so in the hosts' namespaces.
func (f *flow) connect(ctx context.Context, from, to *Node, src, dst net.IP) error {
	var ln net.Listener
	err := to.Do(func() (err error) {
		lc := net.ListenConfig{Control: cubic}
		ln, err = lc.Listen(ctx, "tcp4", net.JoinHostPort(dst.String(), "0"))
		return err
	})
	if err != nil {
		return err
	}
	defer ln.Close()
	stop := context.AfterFunc(ctx, func() { _ = ln.Close() })
	defer stop()
	err = from.Do(func() (err error) {
		d := net.Dialer{Control: cubic, LocalAddr: &net.TCPAddr{IP: src}}
		f.client, err = d.DialContext(ctx, "tcp4", ln.Addr().String())
		return err
	})
	if err != nil {
		return err
	}
	if f.server, err = ln.Accept(); err != nil {
		return errors.Join(err, f.client.Close())
	}
	return nil
}

func cubic(_, _ string, c syscall.RawConn) error {
	var err error
	cerr := c.Control(func(fd uintptr) {
		err = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, "cubic")
	})
	if errors.Is(err, unix.ENOENT) {
		err = nil // a kernel without cubic
	}
	return errors.Join(cerr, err)
}
