// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"encoding/binary"
	"testing"

	"github.com/tbnet2/tbnet2/wire"
)

// FuzzReceive puts frames that a hostile peer or a broken link could send into
// a live pair. Without CRCs, whatever they say, nothing panics and memory stays
// bounded; where CRCs are asked for, frames without a good one change nothing:
// all honest traffic comes through, checked by content.
func FuzzReceive(f *testing.F) {
	f.Add([]byte{0, 0x0a, 0, 40, 1, 0, 0, 0, 0, 0, 0, 0, 64, 0, 0, 0})
	f.Add([]byte{1, 0x09, 0, 8, 0, 0, 0, 0, 255, 255, 255, 127})
	f.Add([]byte{2, 0x06, 0, 60, 0, 0, 0, 0, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 16})
	f.Add([]byte{5, 0x08, 0, 16, 0, 0, 0, 0, 200, 0, 0, 0, 3, 0, 0, 0, 7, 0, 0, 0})
	f.Add([]byte{6, 0x07, 0, 16, 2, 0, 0, 0, 0, 0, 0, 0, 3})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 {
			return
		}
		cfg := Config{Class: Class(data[0] >> 1 & 1), Retransmit: data[0]&1 != 0, ManualConsume: data[0]&8 != 0,
			Window: 1 << 17, LocalSlots: 64, Slots: 64}
		if data[0]&4 != 0 {
			fuzzIntact(t, cfg, data[1:])
			return
		}
		fuzzForged(t, cfg, data[1:])
	})
}

// nextFrame takes a frame off data: flags and type, rail and jump of the rail
// sequence, length, body. What is missing is zero.
func nextFrame(data []byte) (kind, flags byte, rail RailID, jump int, body, rest []byte) {
	var head [3]byte
	n := copy(head[:], data)
	data = data[n:]
	body = make([]byte, int(head[2])*2)
	n = copy(body, data)
	return head[0] & 0x0f, head[0] >> 4, RailID(head[1] & 1), int(int8(head[1]))>>1 - 1, body, data[n:]
}

// fuzzForged sends well-formed headers with any body to both ends, among
// honest traffic.
func fuzzForged(t *testing.T, cfg Config, data []byte) {
	p := newPipe(t, 2, 1500, cfg)
	for turn := 0; len(data) > 0 && turn < 64; turn++ {
		end := turn % 2
		kind, flags, rail, jump, body, rest := nextFrame(data)
		data = rest
		r := p.ends[end].recv
		frame := make([]byte, wire.HeaderLen+len(body))
		h := wire.Header{Type: wire.Type(kind), Flags: flags &^ wire.FlagCRC, Length: uint16(len(body)), Index: r.cfg.LocalIndex,
			RailSeq: uint32(int(r.rails[rail].next) + jump)}
		h.Put(frame)
		copy(frame[wire.HeaderLen:], body)
		p.ends[end].Receive(p.now, rail, frame, &p.in[end])
		p.take(&p.in[end])
		p.ends[end].EndReceive(p.now, &p.in[end])
		p.ends[end].Apply(p.now, &p.in[end])
		p.in[end].Reset()
		_ = p.ends[end].Send(&Packet{Parts: [][]byte{make([]byte, 3000)}, Channel: uint8(turn % 3)}) // may be full
		p.settle()
		p.checkBounds(t)
	}
	for i := range p.ends {
		p.ends[i].Close()
	}
	for i := range p.ends {
		if rs := p.ends[i].ReceiveStats(); rs.ParkedPackets != 0 || rs.ParkedBytes != 0 {
			t.Fatalf("end %d: %d packets parked after Close", i, rs.ParkedPackets)
		}
	}
}

// settle moves frames both ways and the time on, a bounded number of times.
func (p *pipe) settle() {
	p.move(0)
	p.move(1)
	p.now += 5 * Millisecond
	for i := range p.ends {
		p.ends[i].TickReceive(p.now, &p.in[i])
		p.take(&p.in[i])
		p.ends[i].TickSend(p.now, &p.in[i])
		p.in[i].Reset()
	}
}

// checkBounds holds both ends to what they may keep for a peer.
func (p *pipe) checkBounds(t *testing.T) {
	t.Helper()
	for i, a := range p.ends {
		rs, drops := a.ReceiveStats(), uint64(0)
		rs.Drops.Each(func(_ string, n uint64) { drops += n })
		if rs.Frames != rs.Taken+drops {
			t.Fatalf("end %d: %d frames, %d taken, %d dropped", i, rs.Frames, rs.Taken, drops)
		}
		for ch := range a.recv.channels {
			c := &a.recv.channels[ch]
			if c.held+c.backlog > a.recv.cfg.Window && c.backlog > 0 || c.held > a.recv.cfg.Window || c.parked > a.recv.cfg.LocalSlots {
				t.Fatalf("end %d: channel %d holds %d bytes in %d packets, %d wait for the consumer", i, ch, c.held, c.parked, c.backlog)
			}
		}
		if n := len(a.send.control.pongs); n > pongsMost {
			t.Fatalf("end %d: %d PINGs wait for an answer", i, n)
		}
		for id := range a.send.railSet.All() {
			l := &a.send.rails[id].ledger
			sum := 0
			for s := l.una; s != l.next; s++ {
				sum += int(l.at(s).size)
			}
			if sum != l.inFlight {
				t.Fatalf("end %d: rail %d has %d bytes in flight and counts %d", i, id, sum, l.inFlight)
			}
		}
	}
}

// fuzzIntact sends any bytes to node 1 of a world that asks for CRCs, while
// node 0 sends to it.
func fuzzIntact(t *testing.T, cfg Config, data []byte) {
	cfg.SendCRC, cfg.RequireCRC, cfg.ManualConsume = true, true, false
	w := newPaths(t, 1, cfg, path{gigabit, 50 * Microsecond, 0, 0, 1500}, path{gigabit, 70 * Microsecond, 0, 0, 1500})
	w.run(60 * Millisecond)
	sent := uint64(0)
	for turn := 0; len(data) > 0 && turn < 64; turn++ {
		n := min(len(data), 1+int(data[0]))
		frame := append([]byte(nil), data[:n]...)
		data = data[n:]
		if turn%2 == 0 && n >= wire.HeaderLen { // looks right but for the CRC
			frame[0] = wire.Version<<4 | frame[0]&0x0f
			binary.LittleEndian.PutUint16(frame[2:], uint16(n-wire.HeaderLen))
			binary.LittleEndian.PutUint32(frame[4:], w.nodes[1].cfg.LocalIndex)
		}
		w.nodes[1].receive(w.nodes[1].railID(turn%2), frame)
		if w.nodes[0].submit(uint8(turn%3), 2000, false) {
			sent += 2000
		}
		w.nodes[0].flush()
		w.nodes[0].arm()
		w.run(w.now + 100*Microsecond)
	}
	w.run(w.now + 100*Millisecond)
	if w.nodes[1].received != sent {
		t.Fatalf("%d bytes sent, %d delivered", sent, w.nodes[1].received)
	}
	w.check()
}

// FuzzSchedule has bytes drive the simulation: what is sent, what goes wrong
// and when. Whatever they do, the world comes to rest once it is healed, with
// all its invariants.
func FuzzSchedule(f *testing.F) {
	f.Add([]byte{1, 0, 9, 1, 9, 2, 3, 3, 1, 10, 200, 4, 0, 5, 1, 0, 30, 10, 255})
	f.Add([]byte{7, 0, 200, 2, 0, 10, 50, 0, 100, 7, 3, 10, 90, 8, 0, 0, 9})
	f.Add([]byte{12, 1, 255, 6, 17, 10, 40, 5, 2, 0, 3, 9, 0, 1, 88})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 {
			return
		}
		s := newSchedule(t, uint64(data[0]))
		s.clean, s.budget = false, [2]int{}
		data = data[1:min(len(data), 121)]
		for ; len(data) >= 2; data = data[2:] {
			s.act(data[0]%11, data[1])
		}
		s.heal()
		for limit := s.now + 30*Second; !s.idle(); {
			if s.now > limit {
				s.stalled()
			}
			s.run(s.now + 20*Millisecond)
		}
		s.check()
	})
}

// act does one thing to a world, as an operation and its argument say.
func (s *schedule) act(op, arg byte) {
	index, dir := int(arg>>1)%len(s.mtus), int(arg&1)
	n, l := s.nodes[dir], s.lines[dir][index]
	switch op {
	case 0, 1:
		for k := range 1 + int(arg>>4) {
			n.submit(arg>>1&7, 1+(int(arg)*977+k*4801)%wire.PacketMax, arg&64 != 0)
		}
	case 2:
		l.discard = !l.discard
	case 3:
		l.stallUntil = s.now + Time(arg)*Millisecond
	case 4:
		s.carrier(index, l.dead)
	case 5:
		n.assoc.SetUse(n.clock(), RailSet(arg>>1))
	case 6:
		n.assoc.SetWeight(n.railID(index), int(arg>>4))
	case 7:
		l.loss, l.corrupt, l.dup = int(arg)*8, int(arg&15)*10, int(arg>>4)*20
	case 8:
		l.bytesPerMs, l.delay = max(500, l.bytesPerMs*int(1+arg>>4)/8), l.delay+Time(arg)*20*Microsecond
	case 9:
		if arg < 64 {
			s.restart()
		} else {
			n.assoc.SetEnabled(n.clock(), n.railID(index), arg >= 192, &n.in)
			n.after()
			s.at(s.now+30*Millisecond, func() {
				n.assoc.SetEnabled(n.clock(), n.railID(index), true, &n.in)
				n.after()
			})
		}
	case 10:
		s.run(s.now + Time(arg)*Time(arg)*2*Microsecond)
	}
	n.flush()
	n.arm()
}
