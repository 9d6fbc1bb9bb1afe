// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"sync"
	"testing"

	"github.com/tbnet2/tbnet2/fabric"
	"github.com/tbnet2/tbnet2/transport"
	"github.com/tbnet2/tbnet2/wire"
)

// pipe is one end of two joined ports: what is sent on one is delivered at the
// other, in order, through a queue with a bound.
type pipe struct {
	mu      sync.Mutex
	moved   sync.Cond // on mu: the queue, its consumer or the gate has changed
	queue   []*transport.Packet
	bytes   int
	shut    bool // the gate: nothing leaves the queue
	closed  bool
	flushed bool
	handle  func([]transport.Delivery)
	peers   int
	max     int

	limit   int // bytes
	changed chan struct{}
	other   *pipe
	done    sync.WaitGroup
}

func newPipes(tb testing.TB, peers int) (a, b *pipe) {
	a, b = newPipe(peers), newPipe(peers)
	a.other, b.other = b, a
	for _, p := range []*pipe{a, b} {
		p.done.Go(p.pump)
		tb.Cleanup(p.close)
	}
	return a, b
}

func newPipe(peers int) *pipe {
	p := &pipe{limit: 1 << 20, changed: make(chan struct{}, 1), peers: peers, max: wire.PacketMax}
	p.moved.L = &p.mu
	return p
}

func (p *pipe) Send(pk *transport.Packet) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(pk.Parts[0])
	switch {
	case p.closed:
		return fabric.ErrClosed
	case p.bytes > 0 && p.bytes+n > p.limit:
		return fabric.ErrFull
	}
	p.queue = append(p.queue, pk)
	p.bytes += n
	return nil
}

func (p *pipe) WaitSend() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.bytes > p.limit/2 && !p.closed {
		p.moved.Wait()
	}
	if p.closed {
		return fabric.ErrClosed
	}
	return nil
}

func (p *pipe) Flush() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flushed = true
	p.moved.Broadcast()
}

func (p *pipe) Handle(f func([]transport.Delivery)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.handle = f
}

func (p *pipe) Release(*transport.Buffer) {}
func (p *pipe) Changed() <-chan struct{}  { return p.changed }

func (p *pipe) MaxPacket() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.max
}

func (p *pipe) FramePacket() int { return p.MaxPacket() }

func (p *pipe) Peers() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.peers
}

// set changes what the outlet sees of the fabric.
func (p *pipe) set(peers, max int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.peers, p.max = peers, max
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// bound sets how many bytes the queue takes.
func (p *pipe) bound(limit int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.limit = limit
}

func (p *pipe) held() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bytes
}

// gate shuts or opens the way to the other end.
func (p *pipe) gate(shut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shut = shut
	p.moved.Broadcast()
}

func (p *pipe) close() {
	p.mu.Lock()
	p.closed = true
	p.moved.Broadcast()
	p.mu.Unlock()
	p.done.Wait()
}

// pump only moves what was flushed, so that a missing Flush is a stall.
func (p *pipe) pump() {
	for {
		batch, ok := p.take()
		if !ok {
			return
		}
		var out []transport.Delivery
		for _, pk := range batch {
			out = append(out, transport.Delivery{Data: pk.Parts[0], Offload: pk.Offload, HasOffload: pk.HasOffload})
		}
		p.other.mu.Lock()
		handle := p.other.handle
		p.other.mu.Unlock()
		if handle != nil {
			handle(out)
		}
		for _, pk := range batch {
			pk.Done(pk, transport.Acknowledged)
		}
	}
}

func (p *pipe) take() ([]*transport.Packet, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for !p.closed && (p.shut || !p.flushed) {
		p.moved.Wait()
	}
	if p.closed {
		return nil, false
	}
	batch := p.queue
	p.queue, p.bytes, p.flushed = nil, 0, false
	p.moved.Broadcast()
	return batch, true
}
