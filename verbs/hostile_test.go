// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/google/uuid"

	"github.com/tbnet2/tbnet2/fabric"
	"github.com/tbnet2/tbnet2/rail/mem"
	"github.com/tbnet2/tbnet2/transport"
	"github.com/tbnet2/tbnet2/verbs/wire"
	frames "github.com/tbnet2/tbnet2/wire"
)

// TestHostilePeer: a peer that speaks the protocol as it pleases, and knows
// every key, writes nothing outside what was granted, pins no more than the
// window, and leaves the device in working order.
func TestHostilePeer(t *testing.T) {
	s := newSide(t, "victim", 1<<16)
	evil, err := fabric.New(fabric.Config{Host: uuid.NewSHA1(uuid.NameSpaceDNS, []byte("evil")), HostName: "evil", Endpoint: 1, Service: frames.ServiceVerbs})
	must(t, err)
	defer func() { must(t, evil.Close()) }()
	l, err := mem.New(mem.Config{Name: "rail", MTU: 9000, Seed: 1})
	must(t, err)
	must(t, evil.AddRail(l.A(), fabric.RailOptions{}))
	must(t, s.dev.Fabric().AddRail(l.B(), fabric.RailOptions{}))
	wait(t, "rail", func() bool { return s.dev.PortActive() && evil.Port().Peers() == 1 })

	const page = 4096
	memory := bytes.Repeat([]byte{0xc5}, 3*page)
	written := memory[page : 2*page]
	open := s.mr(t, written, all)
	closed := s.mr(t, memory[:page], LocalWrite|RemoteRead)
	gid := HostGID(uuid.NewSHA1(uuid.NameSpaceDNS, []byte("evil")))
	victim := func() *QP {
		q := s.qp(t, QPConfig{Type: RC})
		must(t, q.Connect(gid, 77))
		s.cq.Poll(make([]WC, 64))
		recv(t, q, RecvWR{ID: 1, SGE: []SGE{open.SGE(0, page)}}, RecvWR{ID: 2, SGE: []SGE{open.SGE(8, 100)}})
		return q
	}
	q := victim()
	r := rand.New(rand.NewPCG(1, 2))
	keys := []uint32{open.RKey(), open.LKey(), closed.RKey(), closed.LKey(), 0, r.Uint32()}
	const packets = 10_000
	for i := range uint64(packets) {
		sendRaw(t, evil, hostilePacket(r, q, keys))
		if i%8 != 7 {
			continue
		}
		evil.Port().Flush()
		wait(t, "what was sent", func() bool { return arrived(evil) > i })
		s.cq.Poll(make([]WC, 64))
		if q.State() == Error {
			must(t, q.Destroy())
			q = victim()
		}
	}
	s.dev.mu.Lock()
	defer s.dev.mu.Unlock()
	same(t, "page before", memory[:page], bytes.Repeat([]byte{0xc5}, page))
	same(t, "page behind", memory[2*page:], bytes.Repeat([]byte{0xc5}, page))
	if bytes.Equal(written, bytes.Repeat([]byte{0xc5}, page)) {
		t.Error("nothing was written: this test proves nothing")
	}
	if len(q.inbound) > wire.MessagesOpen || len(q.naks) > wire.MessagesOpen || len(s.dev.drops.list()) == 0 {
		t.Errorf("held: %d messages, %d refusals", len(q.inbound), len(q.naks))
	}
}

// arrived tells how many packets the other side has acknowledged.
func arrived(f *fabric.Fabric) uint64 {
	return f.Status().Peers[0].Send.Outcomes[transport.Acknowledged]
}

// list gives the counts that are not 0.
func (d Drops) list() (l []uint64) {
	for _, n := range []uint64{d.Malformed, d.NoQP, d.WrongPeer, d.Window, d.Contradiction, d.NoReceive, d.Stale} {
		if n != 0 {
			l = append(l, n)
		}
	}
	return l
}

// hostilePacket makes a packet that is likely to get far.
func hostilePacket(r *rand.Rand, q *QP, keys []uint32) []byte {
	addr := base + uint64(r.IntN(4096+32)) - 16
	if r.IntN(8) == 0 {
		addr = r.Uint64()
	}
	n := r.IntN(200)
	h := wire.Header{Dst: q.QPN(), Src: 77, Message: uint32(r.IntN(8)), Op: wire.Op(1 + r.IntN(10)), Flags: uint8(r.IntN(4)),
		Attempt: uint8(r.IntN(2)), Length: uint32(n), Receive: uint32(r.IntN(4)), Total: uint32(n + r.IntN(2)*r.IntN(5000)),
		Addr: addr, Key: keys[max(0, r.IntN(2*len(keys))-len(keys))]}
	if r.IntN(2) == 0 { // one piece that ends around the end of the region
		h.Total = h.Length
		h.Addr = base + 4096 - uint64(n) + uint64(r.IntN(33)) - 16
	}
	h.Offset = uint32(r.IntN(int(h.Total-h.Length) + 1))
	switch h.Op {
	case wire.ReadRequest:
		n, h.Length, h.Offset = 0, 0, 0
	case wire.CompareSwap, wire.FetchAdd:
		n, h.Length, h.Total, h.Offset, h.Addr = wire.AtomicLen, wire.AtomicLen, wire.AtomicLen, 0, h.Addr&^7
	case wire.Ack, wire.Nak:
		n, h.Length, h.Total, h.Offset = 0, 0, 0, 0
		if h.Op == wire.Nak {
			h.Syndrome = wire.Syndrome(1 + r.IntN(4))
		}
	}
	if r.IntN(16) == 0 {
		h.Message, h.Receive = r.Uint32(), r.Uint32()
	}
	b := make([]byte, wire.HeaderLen+n)
	h.Put(b)
	for i := wire.HeaderLen; i < len(b); i++ {
		b[i] = byte(r.Uint32())
	}
	if r.IntN(16) == 0 {
		b[r.IntN(len(b))] ^= byte(1 + r.IntN(255))
	}
	return b
}

func sendRaw(t *testing.T, f *fabric.Fabric, b []byte) {
	t.Helper()
	for {
		err := f.Port().Send(&transport.Packet{Parts: [][]byte{b}})
		if err == nil {
			return
		}
		if err != fabric.ErrFull {
			t.Fatal(err)
		}
		f.Port().Flush()
		must(t, f.Port().WaitSend())
	}
}
