// SPDX-License-Identifier: Apache-2.0

package userstack

import (
	"encoding/binary"
	"sync"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// Delayed acknowledgements (RFC 9293, 3.8.6.3), which netstack has not: it
// answers every segment at once, so that a request and its reply cost four
// packets. One pure acknowledgement of a little data is held for a moment, and
// what its flow sends next takes its place.
const (
	ackDelay = time.Millisecond
	ackBytes = 2048 // at most so many new bytes are acknowledged late
	ackFlows = 64   // flows remembered; a power of two
)

// delayedACK decides which acknowledgement waits. It is safe for any goroutine.
type delayedACK struct {
	late func(*stack.PacketBuffer) // sends one that nothing has replaced

	mu    sync.Mutex // guards what follows
	flows [ackFlows]ackFlow
	held  *stack.PacketBuffer // a reference; nil: none
	of    ackFlow             // held's
	timer *time.Timer
	armed bool // the timer runs; what it finds may be younger than ackDelay
	count uint64
}

// ackFlow is one direction of a TCP connection and what was last acknowledged
// in it.
type ackFlow struct {
	local, remote tcpip.Address
	ports         uint32
	ack           uint32
}

func (f *ackFlow) same(g *ackFlow) bool {
	return f.ports == g.ports && f.remote == g.remote && f.local == g.local
}

// place gives the flow's place in the table.
func (f *ackFlow) place() int {
	h := f.ports
	if a := f.remote.AsSlice(); len(a) >= 4 {
		h ^= binary.BigEndian.Uint32(a[len(a)-4:])
	}
	return int(h * 2654435769 >> 26)
}

// pass takes note of a packet that is to be sent. If hold, it is kept and must
// not be sent; before, if not nil, is to be sent first and its reference
// returned.
func (d *delayedACK) pass(pkt *stack.PacketBuffer) (before *stack.PacketBuffer, hold bool) {
	if pkt.TransportProtocolNumber != header.TCPProtocolNumber {
		return nil, false
	}
	tcp := header.TCP(pkt.TransportHeader().Slice())
	if len(tcp) < header.TCPMinimumSize {
		return nil, false
	}
	f := ackFlow{local: pkt.EgressRoute.LocalAddress, remote: pkt.EgressRoute.RemoteAddress,
		ports: uint32(tcp.SourcePort())<<16 | uint32(tcp.DestinationPort()), ack: tcp.AckNumber()}
	acks := tcp.Flags()&header.TCPFlagAck != 0
	d.mu.Lock()
	defer d.mu.Unlock()
	before = d.replace(&f, acks)
	known := &d.flows[f.place()]
	fresh := f.ack - known.ack
	mayWait := acks && known.same(&f) && fresh > 0 && fresh <= ackBytes && isPureACK(pkt, tcp)
	if acks {
		*known = f
	}
	if !mayWait {
		return before, false
	}
	if before == nil {
		before = d.held // of another flow
	}
	d.held, d.of = pkt.IncRef(), f
	d.arm()
	return before, true
}

// replace drops the held acknowledgement if a packet of its flow says as much,
// or gives it back to be sent before one that does not.
func (d *delayedACK) replace(f *ackFlow, acks bool) (before *stack.PacketBuffer) {
	if d.held == nil || !d.of.same(f) {
		return nil
	}
	held := d.held
	d.held = nil
	if !acks || int32(f.ack-d.of.ack) < 0 {
		return held
	}
	held.DecRef()
	d.count++
	return nil
}

// isPureACK reports whether a packet does nothing but acknowledge in order:
// no data, no other flag, no SACK.
func isPureACK(pkt *stack.PacketBuffer, tcp header.TCP) bool {
	const timestamps = 12
	return tcp.Flags() == header.TCPFlagAck && pkt.Data().Size() == 0 &&
		int(tcp.DataOffset()) <= header.TCPMinimumSize+timestamps
}

// arm sets the timer unless it runs: setting it anew for every packet would
// cost more than what is saved.
func (d *delayedACK) arm() {
	if d.armed {
		return
	}
	d.armed = true
	if d.timer == nil {
		d.timer = time.AfterFunc(ackDelay, d.expire)
		return
	}
	d.timer.Reset(ackDelay)
}

// expire sends what is held.
func (d *delayedACK) expire() {
	d.mu.Lock()
	held := d.held
	d.held, d.armed = nil, false
	d.mu.Unlock()
	if held != nil {
		d.late(held)
		held.DecRef()
	}
}

// replaced counts the acknowledgements that others made needless.
func (d *delayedACK) replaced() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.count
}

// close drops what is held.
func (d *delayedACK) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
	}
	if d.held != nil {
		d.held.DecRef()
		d.held = nil
	}
}
