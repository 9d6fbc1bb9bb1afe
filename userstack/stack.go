// SPDX-License-Identifier: Apache-2.0

package userstack

import (
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/ethernet"
	"gvisor.dev/gvisor/pkg/tcpip/network/arp"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/icmp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"

	"github.com/tbnet2/tbnet2/fabric"
)

// nic is the one interface's number.
const nic tcpip.NICID = 1

// Stack is a TCP/IP host on a port. Its methods may be called from any
// goroutine.
type Stack struct {
	cfg  Config
	port fabric.Port
	net  *stack.Stack
	link *endpoint

	mu    sync.Mutex // guards addrs
	addrs []netip.Prefix

	once sync.Once
	quit chan struct{}
	done sync.WaitGroup
}

// New makes a host on a port, which stays the caller's to close, after the
// Stack.
func New(port fabric.Port, cfg Config) (*Stack, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Stack{cfg: cfg, port: port, quit: make(chan struct{})}
	s.net = stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{arp.NewProtocol, ipv4.NewProtocol, ipv6.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol, udp.NewProtocol, icmp.NewProtocol4, icmp.NewProtocol6},
	})
	if err := s.setUp(); err != nil {
		s.net.Destroy()
		return nil, err
	}
	s.done.Add(1)
	go s.follow()
	return s, nil
}

func (s *Stack) setUp() error {
	if err := s.setTCP(); err != nil {
		return err
	}
	s.link = newEndpoint(s.port, MAC(s.cfg.Host), s.mtu())
	if err := s.net.CreateNIC(nic, ethernet.New(s.link)); err != nil {
		return fmt.Errorf("userstack: interface: %v", err)
	}
	for _, a := range append(automatic(s.cfg.Host), s.cfg.Addresses...) {
		if err := s.AddAddress(a); err != nil {
			return err
		}
	}
	return nil
}

// mtu is the IP MTU: the configured one, or what the port carries.
func (s *Stack) mtu() int {
	return max(mtuLeast, min(s.cfg.MTU, s.port.MaxPacket()-header.EthernetMinimumSize))
}

// setTCP sets what Config asks of TCP.
func (s *Stack) setTCP() error {
	sack := tcpip.TCPSACKEnabled(!s.cfg.NoSACK)
	control := tcpip.CongestionControlOption("cubic")
	if s.cfg.Reno {
		control = "reno"
	}
	recovery := tcpip.TCPRecovery(0)
	if s.cfg.RACK {
		recovery = tcpip.TCPRACKLossDetection
	}
	first := func(most int) int { return min(most, max(bufferLeast, most/8)) }
	rx := tcpip.TCPReceiveBufferSizeRangeOption{Min: bufferLeast, Default: first(s.cfg.ReadBuffer), Max: s.cfg.ReadBuffer}
	tx := tcpip.TCPSendBufferSizeRangeOption{Min: bufferLeast, Default: first(s.cfg.WriteBuffer), Max: s.cfg.WriteBuffer}
	moderate := tcpip.TCPModerateReceiveBufferOption(true)
	for _, o := range []tcpip.SettableTransportProtocolOption{&sack, &control, &recovery, &rx, &tx, &moderate} {
		if err := s.net.SetTransportProtocolOption(tcp.ProtocolNumber, o); err != nil {
			return fmt.Errorf("userstack: TCP option %T: %v", o, err)
		}
	}
	return nil
}

// AddAddress gives the host another address; its prefix is reached on the link.
func (s *Stack) AddAddress(p netip.Prefix) error {
	proto := ipv4.ProtocolNumber
	if p.Addr().Is6() {
		proto = ipv6.ProtocolNumber
	}
	a := tcpip.ProtocolAddress{Protocol: proto, AddressWithPrefix: tcpip.AddressWithPrefix{
		Address: tcpipAddress(p.Addr()), PrefixLen: p.Bits()}}
	if err := s.net.AddProtocolAddress(nic, a, stack.AddressProperties{}); err != nil {
		return fmt.Errorf("userstack: address %v: %v", p, err)
	}
	s.net.AddRoute(tcpip.Route{Destination: a.AddressWithPrefix.Subnet(), NIC: nic})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addrs = append(s.addrs, p)
	return nil
}

// Addresses are the host's, automatic ones first.
func (s *Stack) Addresses() []netip.Prefix {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.addrs)
}

// MTU is the IP MTU at the moment, bytes.
func (s *Stack) MTU() int { return int(s.link.MTU()) }

// follow keeps the MTU below what the port carries.
func (s *Stack) follow() {
	defer s.done.Done()
	for {
		select {
		case <-s.port.Changed():
			if mtu := s.mtu(); mtu != s.MTU() {
				s.net.SetNICMTU(nic, uint32(mtu))
			}
		case <-s.quit:
			return
		}
	}
}

// Close ends every connection and the host.
func (s *Stack) Close() error {
	s.once.Do(func() {
		close(s.quit)
		s.done.Wait()
		s.net.Destroy()
	})
	return nil
}

// Stats are a host's counters.
type Stats struct {
	TxFull         uint64 `json:"tx_full"`    // packets dropped for want of room
	TxInvalid      uint64 `json:"tx_invalid"` // refused by the port
	RxShort        uint64 `json:"rx_short"`
	RxDetached     uint64 `json:"rx_detached"`   // came before or after the interface
	AcksReplaced   uint64 `json:"acks_replaced"` // by what their flow sent next
	TCPRetransmits uint64 `json:"tcp_retransmits"`
	TCPTimeouts    uint64 `json:"tcp_timeouts"`
	TCPSegments    uint64 `json:"tcp_segments_sent"`
	TCPResets      uint64 `json:"tcp_resets"`
	IPDropped      uint64 `json:"ip_dropped"` // malformed, or for nobody here
}

// Stats gives the counters.
func (s *Stack) Stats() Stats {
	t, c := s.net.Stats(), &s.link.stats
	return Stats{
		TxFull: c.txFull.Load(), TxInvalid: c.txInvalid.Load(), RxShort: c.rxShort.Load(), RxDetached: c.rxDetached.Load(),
		AcksReplaced:   s.link.acks.replaced(),
		TCPRetransmits: t.TCP.Retransmits.Value(), TCPTimeouts: t.TCP.Timeouts.Value(),
		TCPSegments: t.TCP.SegmentsSent.Value(), TCPResets: t.TCP.ResetsReceived.Value(),
		IPDropped: t.IP.MalformedPacketsReceived.Value() + t.IP.InvalidDestinationAddressesReceived.Value(),
	}
}
