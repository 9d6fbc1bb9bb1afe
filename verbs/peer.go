// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/tbnet2/tbnet2/fabric"
	"github.com/tbnet2/tbnet2/transport"
	"github.com/tbnet2/tbnet2/verbs/wire"
)

// Tuning.
const (
	quantum  = 256 << 10 // bytes a queue pair sends in its turn
	copyMost = 1024      // payload up to this is copied: its completion need not wait for the transport
)

// peer is another host's device.
type peer struct {
	device *Device
	gid    GID
	port   fabric.Port
	kick   chan struct{}
	reset  atomic.Bool // the association is a new one

	linked  bool  // guarded by device.mu, as what follows
	blocked bool  // the port was full
	ready   []*QP // that have something to send, in turn
	parts   map[partKey]*partial

	doneMu sync.Mutex // a leaf, taken under the transport's send lock: guards done
	done   []*packet
}

func newPeer(d *Device, gid GID, port fabric.Port) *peer {
	return &peer{device: d, gid: gid, port: port, kick: make(chan struct{}, 1), parts: map[partKey]*partial{}}
}

// packet is one packet on its way.
type packet struct {
	transport.Packet
	peer  *peer
	owner sender
	lost  bool
	head  [wire.HeaderLen]byte
}

// sender is what waits for its packets to be done with. mu is held.
type sender interface{ packetDone(lost bool) }

// run follows the port and sends what had to wait, until the device closes.
func (p *peer) run() {
	for {
		select {
		case <-p.kick:
		case <-p.port.Changed():
		case <-p.device.quit:
			return
		}
		for p.work() {
			if p.port.WaitSend() != nil {
				return
			}
		}
	}
}

// work does what is due; true if the port is full.
func (p *peer) work() bool {
	d := p.device
	d.mu.Lock()
	p.follow()
	p.reap()
	p.blocked = false
	p.pump()
	full := p.blocked && p.linked && !d.closed
	d.mu.Unlock()
	p.port.Flush()
	return full
}

// follow sees whether the peer can be reached. mu is held.
func (p *peer) follow() {
	is := p.port.Peers() > 0
	if is != p.linked {
		p.linked = is
		delta := -1
		if is {
			delta = 1
		}
		p.device.follow(delta)
	}
}

// reap lets go of what the transport no longer needs. mu is held.
func (p *peer) reap() {
	p.doneMu.Lock()
	list := p.done
	p.done = nil
	p.doneMu.Unlock()
	for _, k := range list {
		k.owner.packetDone(k.lost)
	}
}

// wake has the goroutine look.
func (p *peer) wake() {
	select {
	case p.kick <- struct{}{}:
	default:
	}
}

// want queues q to send. mu is held.
func (p *peer) want(q *QP) {
	if !q.queued {
		q.queued = true
		p.ready = append(p.ready, q)
	}
}

// pump lets the queue pairs send in turn. mu is held.
func (p *peer) pump() {
	for len(p.ready) > 0 && !p.blocked && p.linked {
		q := p.ready[0]
		p.ready = p.ready[1:]
		q.queued = false
		if more := q.transmit(p); more {
			p.want(q)
		}
	}
}

// send gives a packet to the port; false if it has no room. payload is copied
// if it is small or owner is nil. mu is held.
func (p *peer) send(h *wire.Header, payload [][]byte, owner sender) bool {
	k := &packet{peer: p, owner: owner}
	n := 0
	for _, b := range payload {
		n += len(b)
	}
	h.Length = uint32(n)
	h.Put(k.head[:])
	if n <= copyMost {
		whole := append(make([]byte, 0, wire.HeaderLen+n), k.head[:]...)
		for _, b := range payload {
			whole = append(whole, b...)
		}
		k.Parts, k.owner = [][]byte{whole}, nil
	} else {
		k.Parts = append([][]byte{k.head[:]}, payload...)
		k.Done = k.finished
	}
	if err := p.port.Send(&k.Packet); err != nil {
		p.blocked = p.blocked || errors.Is(err, fabric.ErrFull)
		if p.blocked {
			p.wake()
		}
		return false
	}
	return true
}

// copied reports whether send copies n bytes of payload.
func copied(n int) bool { return n <= copyMost }

// finished is called under the transport's send lock.
func (k *packet) finished(_ *transport.Packet, o transport.Outcome) {
	p := k.peer
	k.lost = o > transport.Sent
	p.doneMu.Lock()
	p.done = append(p.done, k)
	p.doneMu.Unlock()
	p.wake()
}

// fragment is how much payload goes in one packet.
func (p *peer) fragment() int {
	return max(512, min(p.port.FramePacket(), transportMost)-wire.HeaderLen)
}

// transportMost is the transport's largest packet, bytes.
const transportMost = 65536
