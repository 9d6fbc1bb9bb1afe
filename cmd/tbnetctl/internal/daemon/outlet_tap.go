// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"syscall"

	"github.com/google/uuid"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/tbnet2/tbnet2/cmd/tbnetctl/internal/config"
	"github.com/tbnet2/tbnet2/cmd/tbnetctl/internal/setup"
	"github.com/tbnet2/tbnet2/ctl"
	"github.com/tbnet2/tbnet2/fabric"
	"github.com/tbnet2/tbnet2/tap"
	"github.com/tbnet2/tbnet2/userstack"
	"github.com/tbnet2/tbnet2/userstack/proxy"
)

// tapOutlet is a network device of the kernel. It is persistent: a restart of
// the daemon keeps its ifindex and addresses.
type tapOutlet struct {
	dev  *tap.Device
	port fabric.Port
}

func openTAP(b config.Bond, host uuid.UUID, port fabric.Port, log *slog.Logger) (*tapOutlet, error) {
	// The same MAC and addresses as the userspace stack would have.
	mac := userstack.MAC(host)
	addrs := []netip.Prefix{netip.PrefixFrom(userstack.LinkLocal6(host), 64), netip.PrefixFrom(userstack.LinkLocal4(host), 16)}
	for _, s := range b.Addresses {
		p, err := netip.ParsePrefix(s)
		if err != nil {
			return nil, fmt.Errorf("address %q: %w", s, err)
		}
		addrs = append(addrs, p)
	}
	dev, err := tap.Open(tap.Config{Name: b.Name, Persist: true, MTU: b.MTU, MAC: mac[:], Addrs: addrs, Log: log})
	if err != nil {
		return nil, err
	}
	if err := dev.Attach(port); err != nil {
		return nil, errors.Join(err, dev.Close())
	}
	return &tapOutlet{dev, port}, nil
}

func (o *tapOutlet) status() ctl.Bond {
	b := ctl.Bond{Name: o.dev.Name(), Kind: config.OutletTAP, Carrier: o.dev.Carrier(), MaxPacket: o.port.MaxPacket(), Addresses: []string{}}
	ifi, err := o.dev.Interface()
	if err != nil {
		return b // removed meanwhile; done tells
	}
	b.Name, b.MTU = ifi.Name, ifi.MTU
	if addrs, err := ifi.Addrs(); err == nil {
		for _, a := range addrs {
			b.Addresses = append(b.Addresses, a.String())
		}
	}
	return b
}

func (o *tapOutlet) change(c ctl.BondChange) error {
	ifi, err := o.dev.Interface()
	if err != nil {
		return err
	}
	before := ifi.MTU
	if c.MTU != 0 {
		if err := (setup.Kernel{}).SetMTU(ifi.Name, c.MTU); err != nil {
			return ctl.Errorf(ctl.CodeInvalid, "%v", err)
		}
	}
	if err := addAddresses(ifi.Index, c.Addresses); err != nil {
		if c.MTU != 0 {
			err = errors.Join(err, setup.Kernel{}.SetMTU(ifi.Name, before))
		}
		return err
	}
	return nil
}

// addAddresses adds all or none.
func addAddresses(index int, addrs []string) error {
	l := &netlink.GenericLink{LinkAttrs: netlink.LinkAttrs{Index: index}}
	var added []*netlink.Addr
	for _, s := range addrs {
		a, err := netlink.ParseAddr(s)
		if err == nil {
			err = netlink.AddrAdd(l, a)
			if errors.Is(err, unix.EEXIST) {
				continue
			}
		}
		if err != nil {
			for _, a := range added {
				err = errors.Join(err, netlink.AddrDel(l, a))
			}
			return ctl.Errorf(ctl.CodeInvalid, "add address %s: %v", s, err)
		}
		added = append(added, a)
	}
	return nil
}

// control binds a socket to the device, so that nothing leaves the bond, and
// gives TCP the congestion control that every benchmark here is made with.
func (o *tapOutlet) control(_, _ string, c syscall.RawConn) error {
	ifi, err := o.dev.Interface()
	if err != nil {
		return err
	}
	var inner error
	err = c.Control(func(fd uintptr) {
		if inner = unix.SetsockoptString(int(fd), unix.SOL_SOCKET, unix.SO_BINDTODEVICE, ifi.Name); inner != nil {
			return
		}
		// Some kernels are built without cubic; theirs is used then.
		_ = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, "cubic")
	})
	return errors.Join(err, inner)
}

func (o *tapOutlet) dial(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	if to.Addr().IsLinkLocalUnicast() {
		ifi, err := o.dev.Interface()
		if err != nil {
			return nil, err
		}
		to = netip.AddrPortFrom(to.Addr().WithZone(ifi.Name), to.Port())
	}
	d := net.Dialer{Control: o.control}
	return d.DialContext(ctx, "tcp", to.String())
}

func (o *tapOutlet) listen(port uint16) (net.Listener, error) {
	// Go tells by the loopback device whether there is IPv6, which is down in
	// a fresh network namespace: say what is meant.
	l := net.ListenConfig{Control: o.control}
	return l.Listen(context.Background(), "tcp6", net.JoinHostPort("::", strconv.Itoa(int(port))))
}

func (o *tapOutlet) network() proxy.Network { return nil }

func (o *tapOutlet) done() <-chan struct{} { return o.dev.Done() }
func (o *tapOutlet) err() error            { return o.dev.Err() }
func (o *tapOutlet) Close() error          { return o.dev.Close() }

func (o *tapOutlet) drops() map[string]uint64 {
	s := o.dev.Stats()
	return map[string]uint64{
		"tap_tx_refused": s.TxRefused, "tap_tx_short": s.TxShort, "tap_tx_ring_full": s.TxRingFull,
		"tap_rx_short": s.RxShort, "tap_rx_bad_offload": s.RxBadOffload, "tap_rx_busy": s.RxBusy, "tap_rx_down": s.RxDown, "tap_rx_errors": s.RxErrors, "tap_rx_closed": s.RxClosed,
	}
}
