// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/tbnet2/tbnet2/transport"
)

// Sizes in bytes, and packets under way.
const (
	mtu      = 4096
	payload  = 64
	ring     = 8 << 20
	underWay = 256
	perTurn  = 64
	slots    = 512  // more than one burst holds
	slot     = 2048 // the longest head; bodies are not looked at
)

// pipe is two associations back to back.
type pipe struct {
	now   transport.Time
	ends  [2]*transport.Association
	in    [2]transport.Inbox
	burst [2]transport.Burst
	ring  [slots][slot]byte // as frames would lie in a receive ring
	taken int
	mem   memory
	free  []*transport.Packet
}

// memory keeps what it gets back.
type memory struct{ free []*transport.Buffer }

// Get implements transport.Memory.
func (m *memory) Get(int) *transport.Buffer {
	if k := len(m.free); k > 0 {
		b := m.free[k-1]
		m.free = m.free[:k-1]
		return b
	}
	return &transport.Buffer{Data: make([]byte, mtu)}
}

// Put implements transport.Memory.
func (m *memory) Put(b *transport.Buffer) { m.free = append(m.free, b) }

// Room implements transport.Memory.
func (m *memory) Room() int { return 1 << 40 }

// newPipe gives a pipe whose rails are all up at their full MTU.
func newPipe(rails int) (*pipe, error) {
	p := &pipe{}
	for i := range p.ends {
		p.ends[i] = transport.New(transport.Config{Retransmit: true, LocalIndex: uint32(256 + i), PeerIndex: uint32(257 - i),
			Memory: &p.mem}, 0)
		for id := range rails {
			err := p.ends[i].AddRail(0, transport.RailConfig{ID: transport.RailID(id), PeerID: transport.RailID(id), MTU: mtu, Ring: ring})
			if err != nil {
				return nil, err
			}
		}
	}
	for range 100 {
		p.now += 10 * transport.Millisecond
		p.tick()
	}
	if up := p.ends[0].UpRails().Len(); up != rails {
		return nil, fmt.Errorf("%d of %d rails are up", up, rails)
	}
	body := [][]byte{make([]byte, payload)}
	done := func(q *transport.Packet, _ transport.Outcome) { p.free = append(p.free, q) }
	for range underWay {
		p.free = append(p.free, &transport.Packet{Parts: body, Done: done})
	}
	return p, nil
}

func (p *pipe) tick() {
	for i := range p.ends {
		p.ends[i].TickReceive(p.now, &p.in[i])
		p.ends[i].TickSend(p.now, &p.in[i])
		p.in[i].Reset()
		p.move(i)
	}
}

// run passes n packets of one frame each and checks that they arrived.
func (p *pipe) run(n int) error {
	before := p.taken
	for sent := 0; sent < n; {
		for range perTurn {
			if len(p.free) == 0 || sent == n {
				break
			}
			q := p.free[len(p.free)-1]
			if p.ends[0].Send(q) != nil {
				break
			}
			p.free = p.free[:len(p.free)-1]
			sent++
		}
		p.turn()
	}
	for idle := 0; p.taken-before < n; idle++ {
		if idle > 1000 {
			return fmt.Errorf("%d of %d packets arrived", p.taken-before, n)
		}
		p.turn()
	}
	return nil
}

// turn moves what may move both ways; time passes.
func (p *pipe) turn() {
	p.now += 20 * transport.Microsecond
	if p.move(0)+p.move(1) == 0 {
		p.now += transport.Millisecond
		p.tick()
	}
}

// move sends what end i has to the other end, rail by rail.
func (p *pipe) move(i int) (frames int) {
	from, to := p.ends[i], p.ends[1-i]
	b, in := &p.burst[i], &p.in[1-i]
	for more := true; more; {
		b.Reset()
		more = from.Transmit(p.now, b)
		at := 0
		for id := range b.Rails().All() {
			out := b.Frames(id)
			frames += len(out)
			for k := range out {
				f := &out[k]
				buf := &p.ring[at%slots]
				at++
				copy(buf[:], f.Head)
				to.Receive(p.now, id, buf[:min(f.Size(), slot)], in)
			}
		}
		to.EndReceive(p.now, in)
		for k := range in.Deliveries {
			p.taken++
			if buf := in.Deliveries[k].Buf; buf != nil {
				p.mem.Put(buf)
			}
		}
		to.Apply(p.now, in)
		in.Reset()
	}
	return frames
}
