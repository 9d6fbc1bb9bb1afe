// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"sync"

	"github.com/google/uuid"

	"github.com/tbnet2/tbnet2/cmd/tbnetctl/internal/config"
	"github.com/tbnet2/tbnet2/ctl"
	"github.com/tbnet2/tbnet2/fabric"
	"github.com/tbnet2/tbnet2/userstack"
	"github.com/tbnet2/tbnet2/userstack/proxy"
)

// stackOutlet is a TCP/IP host in the daemon; programs come in by SOCKS5 and
// forwards. It needs no network device and no privilege beyond the rails'.
type stackOutlet struct {
	name  string
	port  fabric.Port
	stack *userstack.Stack

	mu sync.Mutex // held while addresses are read or added
}

func openUserstack(b config.Bond, host uuid.UUID, port fabric.Port) (*stackOutlet, error) {
	c := userstack.Config{Host: host, MTU: b.MTU, ReadBuffer: b.ReadBuffer, WriteBuffer: b.WriteBuffer}
	for _, s := range b.Addresses {
		p, err := netip.ParsePrefix(s)
		if err != nil {
			return nil, fmt.Errorf("address %q: %w", s, err)
		}
		c.Addresses = append(c.Addresses, p)
	}
	stack, err := userstack.New(port, c)
	if err != nil {
		return nil, err
	}
	return &stackOutlet{name: b.Name, port: port, stack: stack}, nil
}

func (o *stackOutlet) status() ctl.Bond {
	b := ctl.Bond{Name: o.name, Kind: config.OutletUserstack, MTU: o.stack.MTU(), MaxPacket: o.port.MaxPacket(), Carrier: o.port.Peers() > 0, Addresses: []string{}}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, a := range o.stack.Addresses() {
		b.Addresses = append(b.Addresses, a.String())
	}
	return b
}

// change adds addresses, all or none: each is checked before the first is
// added, and a valid one that is not there yet is always taken.
func (o *stackOutlet) change(c ctl.BondChange) error {
	if c.MTU != 0 {
		return ctl.Errorf(ctl.CodeUnsupported, "the MTU of %s (userstack) is fixed at its start: set mtu in [bond] and restart the daemon", o.name)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	var add []netip.Prefix
	have := map[netip.Addr]bool{}
	for _, p := range o.stack.Addresses() {
		have[p.Addr()] = true
	}
	for _, s := range c.Addresses {
		p, err := netip.ParsePrefix(s)
		if err != nil {
			return ctl.Errorf(ctl.CodeInvalid, "%q is no ADDRESS/PREFIX", s)
		}
		if !have[p.Addr()] {
			have[p.Addr()] = true
			add = append(add, p)
		}
	}
	for _, p := range add {
		if err := o.stack.AddAddress(p); err != nil {
			return ctl.Errorf(ctl.CodeInvalid, "%v", err)
		}
	}
	return nil
}

func (o *stackOutlet) dial(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	return o.stack.DialContext(ctx, "tcp", to.String())
}

func (o *stackOutlet) listen(port uint16) (net.Listener, error) {
	return o.stack.Listen("tcp", net.JoinHostPort("", strconv.Itoa(int(port))))
}

func (o *stackOutlet) drops() map[string]uint64 {
	s := o.stack.Stats()
	return map[string]uint64{
		"stack_tx_full": s.TxFull, "stack_tx_invalid": s.TxInvalid, "stack_rx_short": s.RxShort,
		"stack_rx_detached": s.RxDetached, "stack_ip_dropped": s.IPDropped,
	}
}

func (o *stackOutlet) network() proxy.Network { return o.stack }

func (o *stackOutlet) done() <-chan struct{} { return nil } // nothing it could fail at
func (o *stackOutlet) err() error            { return nil }
func (o *stackOutlet) Close() error          { return o.stack.Close() }
