// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/tbnet2/tbnet2/rail"
	"github.com/tbnet2/tbnet2/transport"
	"github.com/tbnet2/tbnet2/wire"
)

// facts are what the attacker has read off its segment. Nonces and indices are
// the victim's newest.
type facts struct {
	victim     [16]byte // UUID
	nonce      atomic.Uint64
	helloIndex atomic.Uint32
}

// read takes what a frame of the victim tells.
func (k *facts) read(frame []byte) {
	var h wire.Header
	var m wire.Hello
	body, err := wire.ParseHeader(frame, &h)
	if err != nil || h.Type > wire.TypeConfirm || wire.ParseHello(body, &m) != nil {
		return
	}
	k.nonce.Store(m.Nonce)
	if h.Type == wire.TypeHello {
		k.helloIndex.Store(m.Index)
	}
}

// liar is a false host that makes a real association, so that its frames get
// past the index.
type liar struct {
	mac  rail.MAC
	send func(from, to rail.MAC, frame []byte)

	mu    sync.Mutex // guards what follows
	h     *transport.Handshake
	index uint32 // that frames to the victim carry; 0: no association
	seq   uint32 // of its rail
	to    rail.MAC
}

func newLiar(n int, seed uint64, now transport.Time, send func(from, to rail.MAC, frame []byte)) *liar {
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	l := &liar{mac: rail.MAC{2, 0x11, 0xa5, 0, byte(n >> 8), byte(n)}, send: send}
	host := [16]byte{byte(r.Uint32()), byte(n), byte(n >> 8), 0x11}
	l.h = transport.NewHandshake(transport.HandshakeConfig{Host: host, Name: "honest", Endpoint: uint8(1 + n%200),
		Service: wire.ServiceEthernet, Epoch: r.Uint64() | 1, Caps: wire.CapRetransmit | wire.CapOffload | wire.CapCRC,
		Random: r.Uint64}, now)
	_ = l.h.AddDevice(now, 0, transport.Attachment{Name: "liar", MAC: l.mac, MTU: 9000, Rate: 1e9, Carrier: true, CRC: true}) // the only device
	return l
}

// hear takes a frame that came for the liar.
func (l *liar) hear(now transport.Time, from rail.MAC, frame []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.to = from
	if len(frame) >= wire.HeaderLen && wire.Type(frame[0]&15) <= wire.TypeReset {
		l.h.Receive(now, 0, from, frame)
		l.settle()
	}
}

// tick greets when it is time to, and claims to hear everything.
func (l *liar) tick(now transport.Time, ping bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now >= l.h.Deadline() {
		l.h.Tick(now)
		l.settle()
	}
	if ping && l.index != 0 {
		body := make([]byte, wire.StateLen)
		(&wire.State{Stamp: now.Stamp(), Heard: ^uint64(0)}).Put(body)
		l.send(l.mac, l.to, sealed(nil, wire.Header{Type: wire.TypePing, Index: l.index, RailSeq: l.seq}, body))
	}
}

// settle does what the handshake asks. mu is held.
func (l *liar) settle() {
	var out transport.HandshakeOutput
	l.h.Take(&out)
	for _, f := range out.Frames {
		l.send(l.mac, f.To, f.Data)
	}
	for _, c := range out.Changes {
		switch c.Kind {
		case transport.ChangePeerMade:
			l.index, l.seq = c.Association.PeerIndex, 0
		case transport.ChangePeerGone:
			l.index = 0
		}
	}
}

// target gives what a frame to the victim must carry.
func (l *liar) target() (index, seq uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.index, l.seq
}

// next uses a rail sequence up.
func (l *liar) next() (index, seq uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seq++
	return l.index, l.seq - 1
}

func (l *liar) setSeq(seq uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seq = seq
}

// follow moves the rail sequence to where a frame takes the victim's.
func (l *liar) follow(frame []byte) {
	var h wire.Header
	if _, err := wire.ParseHeader(frame, &h); err != nil || h.Type < wire.TypePing {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if h.Index == l.index && h.RailSeq-l.seq < 1<<16 {
		l.seq = h.RailSeq
		if h.Type.Ledgered() {
			l.seq++
		}
	}
}

// sealed is a frame with a right CRC, appended to b.
func sealed(b []byte, h wire.Header, body []byte) []byte {
	h.Length = uint16(len(body))
	b = append(b, make([]byte, wire.HeaderLen)...)
	h.Put(b)
	b = append(b, body...)
	wire.Seal(b)
	return b
}
