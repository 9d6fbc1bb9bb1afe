// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/link/fdbased"
	"gvisor.dev/gvisor/pkg/tcpip/link/pipe"
	"gvisor.dev/gvisor/pkg/tcpip/network/arp"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
)

// netstack is gVisor's TCP/IP without us below it: what userstack is compared
// with. TCP is set as userstack sets it.
type netstack struct {
	net  *stack.Stack
	addr netip.Addr
	fd   int // the packet socket of fdbased, or -1
}

const nic tcpip.NICID = 1

// buffer of each direction of a connection, bytes: userstack's.
const buffer = 8 << 20

// newNetstack makes a host with one interface.
func newNetstack(link stack.LinkEndpoint, p netip.Prefix, fd int) (*netstack, error) {
	n := &netstack{addr: p.Addr(), fd: fd, net: stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{arp.NewProtocol, ipv4.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol},
	})}
	if err := n.setTCP(); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	a := tcpip.ProtocolAddress{Protocol: ipv4.ProtocolNumber, AddressWithPrefix: tcpip.AddressWithPrefix{
		Address: tcpip.AddrFrom4(p.Addr().As4()), PrefixLen: p.Bits()}}
	if err := n.net.CreateNIC(nic, link); err != nil {
		return nil, errors.Join(fmt.Errorf("interface: %v", err), n.Close())
	}
	if err := n.net.AddProtocolAddress(nic, a, stack.AddressProperties{}); err != nil {
		return nil, errors.Join(fmt.Errorf("address: %v", err), n.Close())
	}
	n.net.AddRoute(tcpip.Route{Destination: a.AddressWithPrefix.Subnet(), NIC: nic})
	return n, nil
}

func (n *netstack) setTCP() error {
	sack := tcpip.TCPSACKEnabled(true)
	control := tcpip.CongestionControlOption("cubic")
	recovery := tcpip.TCPRecovery(0)
	rx := tcpip.TCPReceiveBufferSizeRangeOption{Min: 4096, Default: buffer / 8, Max: buffer}
	tx := tcpip.TCPSendBufferSizeRangeOption{Min: 4096, Default: buffer / 8, Max: buffer}
	moderate := tcpip.TCPModerateReceiveBufferOption(true)
	for _, o := range []tcpip.SettableTransportProtocolOption{&sack, &control, &recovery, &rx, &tx, &moderate} {
		if err := n.net.SetTransportProtocolOption(tcp.ProtocolNumber, o); err != nil {
			return fmt.Errorf("TCP option %T: %v", o, err)
		}
	}
	return nil
}

func (n *netstack) DialContext(ctx context.Context, _, address string) (net.Conn, error) {
	a, err := n.full(address)
	if err != nil {
		return nil, err
	}
	return gonet.DialContextTCP(ctx, n.net, a, ipv4.ProtocolNumber)
}

func (n *netstack) Listen(_, address string) (net.Listener, error) {
	a, err := n.full(address)
	if err != nil {
		return nil, err
	}
	return gonet.ListenTCP(n.net, a, ipv4.ProtocolNumber)
}

func (n *netstack) full(address string) (tcpip.FullAddress, error) {
	ap, err := netip.ParseAddrPort(address)
	return tcpip.FullAddress{NIC: nic, Addr: tcpip.AddrFrom4(ap.Addr().As4()), Port: ap.Port()}, err
}

// Close ends all connections. The socket's reader is told by its end.
func (n *netstack) Close() error {
	n.net.Destroy()
	if n.fd < 0 {
		return nil
	}
	return unix.Close(n.fd)
}

// openFDBased puts gVisor's own Ethernet endpoint on the host's first rail.
func (h *Host) openFDBased() error {
	var fd, mtu int
	var mac net.HardwareAddr
	if err := h.Node.Do(func() (err error) {
		fd, mtu, mac, err = packetSocket(h.Node.RailNames()[0])
		return err
	}); err != nil {
		return err
	}
	link, err := fdbased.New(&fdbased.Options{
		FDs: []int{fd}, MTU: uint32(mtu), EthernetHeader: true, Address: tcpip.LinkAddress(mac),
		PacketDispatchMode: fdbased.RecvMMsg, ProcessorsPerChannel: 1,
	})
	if err != nil {
		return errors.Join(err, unix.Close(fd))
	}
	n, err := newNetstack(link, h.prefix(), fd)
	if err != nil {
		return err
	}
	h.sock, h.plain = n, n
	return nil
}

// packetSocket opens a device of the calling thread's namespace for all frames.
func packetSocket(dev string) (fd, mtu int, mac net.HardwareAddr, err error) {
	link, err := netlink.LinkByName(dev)
	if err != nil {
		return 0, 0, nil, err
	}
	const all = uint16(unix.ETH_P_ALL>>8 | unix.ETH_P_ALL&0xff<<8) // network order
	if fd, err = syscall.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, int(all)); err != nil {
		return 0, 0, nil, err
	}
	a := link.Attrs()
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: a.Index}); err != nil {
		return 0, 0, nil, errors.Join(err, unix.Close(fd))
	}
	return fd, a.MTU, a.HardwareAddr, nil
}

// NoLink is two gVisor hosts whose packets are handed over within the process:
// what their TCP/IP costs when a link costs nothing. mtu is in bytes.
func NoLink(mtu int) (a, b *Host, err error) {
	left, right := pipe.New("\x02\x00\x00\x00\x00\x01", "\x02\x00\x00\x00\x00\x02", uint32(mtu))
	a, b = &Host{Addr: netip.MustParseAddr("10.78.0.1")}, &Host{Addr: netip.MustParseAddr("10.78.0.2")}
	for _, end := range []struct {
		host *Host
		link stack.LinkEndpoint
	}{{a, left}, {b, right}} {
		n, err := newNetstack(end.link, end.host.prefix(), -1)
		if err != nil {
			return nil, nil, errors.Join(err, a.Close(), b.Close())
		}
		end.host.sock, end.host.plain = n, n
	}
	return a, b, nil
}
