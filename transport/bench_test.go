// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"fmt"
	"testing"
)

// pipe joins two associations back to back: frames of a burst are handed over
// rail by rail, so that what was striped arrives shuffled.
type pipe struct {
	now   Time
	ends  [2]*Association
	in    [2]Inbox
	burst [2]Burst
	flat  []byte
	taken int
	mem   *poolMemory
}

// poolMemory keeps what it gets back.
type poolMemory struct{ free []*Buffer }

func (m *poolMemory) Get(n int) *Buffer {
	if k := len(m.free); k > 0 {
		b := m.free[k-1]
		m.free = m.free[:k-1]
		return b
	}
	return &Buffer{Data: make([]byte, 1<<16)}
}

func (m *poolMemory) Put(b *Buffer) { m.free = append(m.free, b) }

func (m *poolMemory) Room() int { return 1 << 40 }

func newPipe(tb testing.TB, rails, mtu int, cfg Config) *pipe {
	p := &pipe{mem: new(poolMemory)}
	cfg.Memory = p.mem
	for i := range p.ends {
		cfg.LocalIndex, cfg.PeerIndex = uint32(256+i), uint32(257-i)
		p.ends[i] = New(cfg, 0)
		for id := range rails {
			if err := p.ends[i].AddRail(0, RailConfig{ID: RailID(id), PeerID: RailID(id), MTU: mtu, Ring: 8 << 20}); err != nil {
				tb.Fatal(err)
			}
		}
	}
	for range 100 { // until every rail is up at its full MTU
		p.now += 10 * Millisecond
		for i := range p.ends {
			p.ends[i].TickReceive(p.now, &p.in[i])
			p.ends[i].TickSend(p.now, &p.in[i])
			p.in[i].Reset()
			p.move(i)
		}
	}
	if got := p.ends[0].UpRails().Len(); got != rails {
		tb.Fatalf("%d rails up, want %d", got, rails)
	}
	return p
}

// move sends what end i has to the other end, which takes it.
func (p *pipe) move(i int) (frames int) {
	from, to := p.ends[i], p.ends[1-i]
	b, in := &p.burst[i], &p.in[1-i]
	for more := true; more; {
		b.Reset()
		more = from.Transmit(p.now, b)
		for id := range b.Rails().All() {
			for k := range b.Frames(id) {
				f := &b.Frames(id)[k]
				if f.Packet != nil && f.Packet != padding {
					frames++
				}
				to.Receive(p.now, id, p.join(f), in)
				p.take(in)
			}
		}
		to.EndReceive(p.now, in)
		to.Apply(p.now, in)
		in.Reset()
	}
	return frames
}

// join lays a frame out as it would lie in a receive ring. Bodies are not
// copied in the benchmark: the core never looks at them without a CRC.
func (p *pipe) join(f *Frame) []byte {
	if cap(p.flat) < f.Size() {
		p.flat = make([]byte, 1<<17)
	}
	b := p.flat[:f.Size()]
	copy(b, f.Head)
	return b
}

func (p *pipe) take(in *Inbox) {
	for i := range in.Deliveries {
		p.taken++
		if buf := in.Deliveries[i].Buf; buf != nil {
			p.mem.Put(buf)
		}
	}
	in.Deliveries = in.Deliveries[:0]
}

// BenchmarkStripe is one frame through both ends: cut, encoded, decoded,
// resequenced, acknowledged and taken off the retransmit list.
func BenchmarkStripe(b *testing.B) {
	for _, rails := range []int{1, 2, 4, 8, 16, 32} {
		b.Run(fmt.Sprintf("rails=%d", rails), func(b *testing.B) { benchStripe(b, rails) })
	}
}

func benchStripe(b *testing.B, rails int) {
	const mtu, size = 4096, 64
	p := newPipe(b, rails, mtu, Config{Retransmit: true})
	body := [][]byte{make([]byte, size)}
	packets := make([]Packet, 256)
	free := make([]*Packet, 0, len(packets))
	done := func(q *Packet, _ Outcome) { free = append(free, q) }
	for i := range packets {
		packets[i].Parts, packets[i].Done = body, done
		free = append(free, &packets[i])
	}
	b.ReportAllocs()
	b.ResetTimer()
	frames := 0
	for frames < b.N {
		for k := 0; k < 64 && len(free) > 0; k++ {
			q := free[len(free)-1]
			free = free[:len(free)-1]
			if p.ends[0].Send(q) != nil {
				free = append(free, q)
				break
			}
		}
		p.now += 20 * Microsecond
		n := p.move(0)
		frames += n
		p.move(1)
		if n == 0 {
			p.now += Millisecond
			for i := range p.ends {
				p.ends[i].TickReceive(p.now, &p.in[i])
				p.ends[i].TickSend(p.now, &p.in[i])
				p.in[i].Reset()
			}
		}
	}
	b.StopTimer()
	if p.taken < frames*9/10 {
		b.Fatalf("%d frames sent, %d packets delivered", frames, p.taken)
	}
}

// BenchmarkChanHop is the peer: one send and one receive on a buffered channel
// between two goroutines.
func BenchmarkChanHop(b *testing.B) {
	c, done := make(chan *Frame, 256), make(chan struct{})
	go func() {
		for range c {
		}
		close(done)
	}()
	f := new(Frame)
	for range b.N {
		c <- f
	}
	close(c)
	<-done
}
