// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"errors"
	"testing"

	"github.com/tbnet2/tbnet2/wire"
)

func TestSendRefuses(t *testing.T) {
	tcp := wire.Offload{Flags: wire.OffloadNeedsCsum, GSOType: wire.GSOTCPv4, GSOSize: 1448, HdrLen: 54, CsumStart: 34, CsumOffset: 16}
	bad := tcp
	bad.GSOSize = 0
	for _, tt := range []struct {
		name   string
		packet Packet
		want   error
	}{
		{"empty", Packet{}, ErrPacket},
		{"of empty parts", Packet{Parts: [][]byte{{}, {}}}, ErrPacket},
		{"the largest", Packet{Parts: [][]byte{make([]byte, 600), make([]byte, wire.PacketMax-600)}}, nil},
		{"too long", Packet{Parts: [][]byte{make([]byte, wire.PacketMax+1)}}, ErrPacket},
		{"last channel", Packet{Parts: [][]byte{{1}}, Channel: wire.Channels - 1}, nil},
		{"no channel", Packet{Parts: [][]byte{{1}}, Channel: wire.Channels}, ErrPacket},
		{"with offload", Packet{Parts: [][]byte{make([]byte, 9000)}, HasOffload: true, Offload: tcp}, nil},
		{"offload that does not fit", Packet{Parts: [][]byte{make([]byte, 50)}, HasOffload: true, Offload: tcp}, ErrPacket},
		{"offload of nothing", Packet{Parts: [][]byte{make([]byte, 9000)}, HasOffload: true, Offload: bad}, ErrPacket},
		{"bad offload that is not there", Packet{Parts: [][]byte{make([]byte, 9000)}, Offload: bad}, nil},
	} {
		a := New(Config{}, 0)
		if err := a.Send(&tt.packet); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
}

func TestQueueBound(t *testing.T) {
	a := New(Config{QueueBytes: 3000}, 0)
	send := func(n int) error { return a.Send(&Packet{Parts: [][]byte{make([]byte, n)}}) }
	for i, tt := range []struct {
		size int
		want error
	}{{4000, nil}, {3000, ErrQueueFull}} { // one packet always fits, however long
		if room := a.Room(tt.size); room != (tt.want == nil) {
			t.Errorf("packet %d: room %v", i, room)
		}
		if err := send(tt.size); !errors.Is(err, tt.want) {
			t.Errorf("packet %d: %v, want %v", i, err, tt.want)
		}
	}
	if got := a.SendStats(); got.QueueFull != 1 || got.QueuedBytes != 4000 || got.Packets != 1 {
		t.Errorf("%d times full, %d bytes and %d packets queued", got.QueueFull, got.QueuedBytes, got.Packets)
	}
	a.Close()
	if err := send(1); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if got := a.SendStats(); got.Outcomes[Aborted] != 1 || got.QueuedBytes != 0 {
		t.Errorf("Close aborts %d packets and leaves %d bytes", got.Outcomes[Aborted], got.QueuedBytes)
	}
}

func TestRailErrors(t *testing.T) {
	a := New(Config{}, 0)
	for _, tt := range []struct {
		name string
		c    RailConfig
		want error
	}{
		{"good", RailConfig{ID: 3, PeerID: 4, MTU: 1500}, nil},
		{"id in use", RailConfig{ID: 3, PeerID: 5, MTU: 1500}, ErrRailID},
		{"peer's id in use", RailConfig{ID: 4, PeerID: 4, MTU: 1500}, ErrRailID},
		{"id out of range", RailConfig{ID: 64, PeerID: 5, MTU: 1500}, ErrRailID},
		{"peer's id out of range", RailConfig{ID: 5, PeerID: 64, MTU: 1500}, ErrRailID},
		{"MTU too small", RailConfig{ID: 5, PeerID: 5, MTU: mtuMin - 1}, ErrRailMTU},
		{"MTU too large", RailConfig{ID: 5, PeerID: 5, MTU: 65536}, ErrRailMTU},
		{"largest", RailConfig{ID: 63, PeerID: 63, MTU: 65535}, nil},
	} {
		if err := a.AddRail(0, tt.c); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
	if err := a.SetMTU(0, 7, 1500); !errors.Is(err, ErrNoRail) {
		t.Errorf("MTU of no rail: %v", err)
	}
	if err := a.SetMTU(0, 3, 100); !errors.Is(err, ErrRailMTU) {
		t.Errorf("MTU of 100: %v", err)
	}
	if _, ok := a.RailStats(7); ok {
		t.Error("statistics of no rail")
	}
	if got := a.Rails(); got != RailSet(0).With(3).With(63) {
		t.Errorf("rails are %b", got)
	}
	var in Inbox // calls for rails that are not there do nothing
	a.SetCarrier(0, 9, false, &in)
	a.SetEnabled(0, 9, false, &in)
	a.SetWeight(9, 3)
	a.RemoveRail(0, 9, &in)
	a.Writable(9)
	if len(in.Events) != 0 {
		t.Errorf("events %v", in.Events)
	}
}

// TestNumbersGoRound sends packets where their numbers, and those of the
// rails, pass half their range and its end. What was skipped long ago must not
// seem to be ahead there.
func TestNumbersGoRound(t *testing.T) {
	for _, first := range []Seq{1<<31 - 40, 1<<32 - 40} {
		for _, cfg := range []Config{{Retransmit: true}, {}, {Class: Reliable}} {
			p := newPipe(t, 2, 1500, cfg)
			p.renumber(first)
			p.taken = 0
			for range 200 {
				p.send(t, 1)
			}
			send, receive := p.ends[0].SendStats(), p.ends[1].ReceiveStats()
			if p.taken != 200 || send.SkipsSent+receive.Skipped+receive.HoleTimeouts+receive.ProvenLost != 0 || send.InFlight != 0 {
				t.Errorf("from %d, %+v: %d of 200 packets, %d SKIPs, %d skipped, %d in flight", first, cfg, p.taken,
					send.SkipsSent, receive.Skipped, send.InFlight)
			}
		}
	}
}

// send sends n packets and lets both ends finish with them.
func (p *pipe) send(tb testing.TB, n int) {
	for range n {
		if err := p.ends[0].Send(&Packet{Parts: [][]byte{{1, 2, 3}}}); err != nil {
			tb.Fatal(err)
		}
	}
	for range 4 {
		p.move(0)
		p.move(1)
		p.now += Millisecond
		for i := range p.ends {
			p.ends[i].TickReceive(p.now, &p.in[i])
			p.ends[i].TickSend(p.now, &p.in[i])
			p.in[i].Reset()
		}
	}
}

// renumber has channel 0 and the rails of end 0 go on from a number, as if all
// before it had been sent and done with. A packet is sent every quarter of the
// range, as what is compared is never further apart.
func (p *pipe) renumber(first Seq) {
	send, recv := p.ends[0].send, p.ends[1].recv
	for at := Seq(0); at != first; {
		at += min(first-at, 1<<30)
		c, d := &send.channels[0], &recv.channels[0]
		c.next, c.acked, d.next = at, at, at
		for id := range send.railSet.All() {
			s, r := send.rails[id], recv.rails[id]
			s.ledger.una, s.ledger.next, s.estimate.round.marker = at, at, at
			r.next, r.started = at, at
			s.position[0] = at
			r.setPosition(0, at)
		}
		if at != first {
			p.send(nil, 1)
			at = c.next
		}
	}
}
