// SPDX-License-Identifier: Apache-2.0

package userstack

import (
	"sync"
	"sync/atomic"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"github.com/tbnet2/tbnet2/fabric"
	"github.com/tbnet2/tbnet2/transport"
	"github.com/tbnet2/tbnet2/wire"
)

// endpoint is netstack's link on a port. The Ethernet header is package
// ethernet's, around it.
type endpoint struct {
	port fabric.Port
	addr tcpip.LinkAddress
	mtu  atomic.Uint32

	mu         sync.RWMutex // guards dispatcher
	dispatcher stack.NetworkDispatcher
	onClose    func()

	acks  delayedACK
	out   sync.Pool // of *outgoing
	stats counters
}

// counters are what Stats tells.
type counters struct {
	txFull, txInvalid, rxShort, rxDetached atomic.Uint64
}

// outgoing is a packet on its way; it holds a reference to netstack's.
type outgoing struct {
	transport.Packet
	of    *stack.PacketBuffer
	parts [][]byte
}

func newEndpoint(port fabric.Port, mac [6]byte, mtu int) *endpoint {
	e := &endpoint{port: port, addr: tcpip.LinkAddress(mac[:])}
	e.mtu.Store(uint32(mtu))
	e.out.New = func() any {
		o := new(outgoing)
		o.Done = func(*transport.Packet, transport.Outcome) { e.recycle(o) }
		return o
	}
	e.acks.late = func(pkt *stack.PacketBuffer) {
		_ = e.write(pkt) // counted; the next one says as much
		e.port.Flush()
	}
	port.Handle(e.receive)
	return e
}

// recycle lets go of netstack's packet.
func (e *endpoint) recycle(o *outgoing) {
	o.of.DecRef()
	o.of = nil
	clear(o.parts)
	o.Parts = nil
	e.out.Put(o)
}

// WritePackets implements stack.LinkWriter. A TCP segment with data waits for
// room in the port; what else does not fit is dropped and counted, as it may
// come from the delivery of a packet, which must not wait.
func (e *endpoint) WritePackets(list stack.PacketBufferList) (int, tcpip.Error) {
	sent, written := 0, 0
	defer func() {
		if written > 0 {
			e.port.Flush()
		}
	}()
	for _, pkt := range list.AsSlice() {
		before, hold := e.acks.pass(pkt)
		if before != nil {
			_ = e.write(before) // counted; the next one says as much
			before.DecRef()
			written++
		}
		if !hold {
			if err := e.write(pkt); err != nil {
				return sent, err
			}
			written++
		}
		sent++
	}
	return sent, nil
}

func (e *endpoint) write(pkt *stack.PacketBuffer) tcpip.Error {
	o := e.out.Get().(*outgoing)
	o.of = pkt.IncRef()
	o.Parts = pkt.AsSlices()
	o.Offload, o.HasOffload = offload(pkt)
	mayWait := pkt.TransportProtocolNumber == header.TCPProtocolNumber && pkt.Data().Size() > 0
	for {
		switch err := e.port.Send(&o.Packet); {
		case err == nil:
			return nil
		case err == fabric.ErrFull && mayWait:
			e.port.Flush()
			if e.port.WaitSend() == nil {
				continue
			}
			e.recycle(o)
			return &tcpip.ErrClosedForSend{}
		case err == fabric.ErrFull:
			e.stats.txFull.Add(1)
			e.recycle(o)
			return &tcpip.ErrNoBufferSpace{}
		default:
			e.stats.txInvalid.Add(1)
			e.recycle(o)
			return &tcpip.ErrInvalidEndpointState{}
		}
	}
}

// offload translates netstack's GSO options; the Ethernet header counts.
func offload(pkt *stack.PacketBuffer) (o wire.Offload, has bool) {
	g := &pkt.GSOOptions
	if g.Type == stack.GSONone || !g.NeedsCsum {
		return o, false
	}
	o.Flags = wire.OffloadNeedsCsum
	o.CsumStart = header.EthernetMinimumSize + g.L3HdrLen
	o.CsumOffset = g.CsumOffset
	if pkt.Data().Size() > int(g.MSS) {
		o.HdrLen, o.GSOSize = uint16(pkt.HeaderSize()), g.MSS
		o.GSOType = wire.GSOTCPv4
		if g.Type == stack.GSOTCPv6 {
			o.GSOType = wire.GSOTCPv6
		}
	}
	return o, true
}

// receive takes packets from the port.
func (e *endpoint) receive(batch []transport.Delivery) {
	e.mu.RLock()
	d := e.dispatcher
	e.mu.RUnlock()
	for i := range batch {
		e.deliver(d, &batch[i])
	}
}

// deliver copies a packet into netstack's memory and hands it over: netstack
// keeps packets for as long as a reader likes, and the port's memory is the
// peers' window.
func (e *endpoint) deliver(d stack.NetworkDispatcher, in *transport.Delivery) {
	if in.Buf != nil {
		defer e.port.Release(in.Buf)
	}
	switch {
	case len(in.Data) < header.EthernetMinimumSize:
		e.stats.rxShort.Add(1)
		return
	case d == nil:
		e.stats.rxDetached.Add(1)
		return
	}
	view := buffer.NewViewSize(len(in.Data))
	copy(view.AsSlice(), in.Data)
	pkt := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithView(view)})
	pkt.RXChecksumValidated = true
	d.DeliverNetworkPacket(0, pkt) // package ethernet reads the protocol
	pkt.DecRef()
}

// MTU implements stack.LinkEndpoint.
func (e *endpoint) MTU() uint32 { return e.mtu.Load() }

// SetMTU implements stack.LinkEndpoint.
func (e *endpoint) SetMTU(mtu uint32) { e.mtu.Store(mtu) }

// MaxHeaderLength implements stack.LinkEndpoint.
func (*endpoint) MaxHeaderLength() uint16 { return 0 }

// LinkAddress implements stack.LinkEndpoint.
func (e *endpoint) LinkAddress() tcpip.LinkAddress { return e.addr }

// SetLinkAddress implements stack.LinkEndpoint. The address is the host's.
func (*endpoint) SetLinkAddress(tcpip.LinkAddress) {}

// Capabilities implements stack.LinkEndpoint.
func (*endpoint) Capabilities() stack.LinkEndpointCapabilities {
	return stack.CapabilityRXChecksumOffload
}

// Attach implements stack.LinkEndpoint.
func (e *endpoint) Attach(d stack.NetworkDispatcher) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.dispatcher = d
}

// IsAttached implements stack.LinkEndpoint.
func (e *endpoint) IsAttached() bool {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.dispatcher != nil
}

// Wait implements stack.LinkEndpoint: there are no goroutines.
func (*endpoint) Wait() {}

// ARPHardwareType implements stack.LinkEndpoint.
func (*endpoint) ARPHardwareType() header.ARPHardwareType { return header.ARPHardwareEther }

// AddHeader implements stack.LinkEndpoint.
func (*endpoint) AddHeader(*stack.PacketBuffer) {}

// ParseHeader implements stack.LinkEndpoint.
func (*endpoint) ParseHeader(*stack.PacketBuffer) bool { return true }

// Close implements stack.LinkEndpoint.
func (e *endpoint) Close() {
	e.acks.close()
	if e.onClose != nil {
		e.onClose()
	}
}

// SetOnCloseAction implements stack.LinkEndpoint.
func (e *endpoint) SetOnCloseAction(f func()) { e.onClose = f }

// GSOMaxSize implements stack.GSOEndpoint.
func (e *endpoint) GSOMaxSize() uint32 {
	return uint32(min(e.port.MaxPacket()-header.EthernetMinimumSize, 65535))
}

// SupportedGSO implements stack.GSOEndpoint.
func (*endpoint) SupportedGSO() stack.SupportedGSO { return stack.HostGSOSupported }
