// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"fmt"
	"testing"
	"time"

	"github.com/tbnet2/tbnet2/rail/model"
)

func TestUC(t *testing.T) {
	w := newWorld(t, 3, model.Params{})
	x, y := w.pair(t, UC)
	const n = 200_000
	src, dst := noise(n, 1), make([]byte, n)
	mx, my := w.a.mr(t, src, all), w.b.mr(t, dst, all)
	post(t, x, SendWR{ID: 1, Op: OpSend, SGE: []SGE{mx.SGE(0, n)}}) // nobody waits for it: lost
	w.a.expect(t, 1, Success)
	wait(t, "the loss", func() bool { return w.b.dev.Drops().NoReceive == 1 })
	recv(t, y, RecvWR{ID: 2, SGE: []SGE{my.SGE(0, n)}}, RecvWR{ID: 3})
	post(t, x, SendWR{ID: 2, Op: OpSend, SGE: []SGE{mx.SGE(0, n)}})
	w.a.expect(t, 2, Success)
	w.b.expect(t, 2, Success)
	same(t, "send", dst, src)
	clear(dst)
	post(t, x, SendWR{ID: 4, Op: OpWrite, SGE: []SGE{mx.SGE(0, n)}, RemoteAddr: base + 1, RKey: my.RKey()}, // outside: passed over
		SendWR{ID: 5, Op: OpWriteImm, Imm: 6, SGE: []SGE{mx.SGE(0, n)}, RemoteAddr: base, RKey: my.RKey()})
	w.a.expect(t, 4, Success)
	w.a.expect(t, 5, Success)
	if c := w.b.expect(t, 3, Success); c.Imm != 6 || c.Opcode != WCRecvImm {
		t.Errorf("completion %+v", c)
	}
	same(t, "write", dst, src)
	if _, err := x.PostSend(SendWR{Op: OpRead}); err == nil {
		t.Error("UC took a READ")
	}
}

func TestUD(t *testing.T) {
	w := newWorld(t, 2, model.Params{}, 1500, 9000)
	x, y := w.a.qp(t, QPConfig{Type: UD}), w.b.qp(t, QPConfig{Type: UD})
	must(t, x.Open(1))
	must(t, y.Open(2))
	ah, err := w.a.pd.CreateAH(w.b.dev.GID())
	must(t, err)
	for i, n := range []int{0, 1, 1400, 4096} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			src, dst := noise(n+1, uint64(n)), make([]byte, n+GRHLen)
			mx, my := w.a.mr(t, src, 0), w.b.mr(t, dst, LocalWrite)
			recv(t, y, RecvWR{ID: 5, SGE: []SGE{my.SGE(0, len(dst))}})
			wr := SendWR{ID: 1, Op: OpSendImm, Imm: 8, AH: ah, RemoteQPN: y.QPN(), RemoteQKey: 3, SGE: []SGE{mx.SGE(0, n)}}
			post(t, x, wr) // with the wrong Q_Key: dropped
			w.a.expect(t, 1, Success)
			wait(t, "the drop", func() bool { return w.b.dev.Drops().WrongPeer == uint64(i+1) })
			wr.RemoteQKey = 2
			post(t, x, wr)
			w.a.expect(t, 1, Success)
			c := w.b.expect(t, 5, Success)
			if int(c.Bytes) != n+GRHLen || !c.HasGRH || c.SrcQPN != x.QPN() || c.Imm != 8 {
				t.Errorf("completion %+v", c)
			}
			gid := w.a.dev.GID()
			same(t, "sender's address", dst[8:24], gid[:])
			same(t, "payload", dst[GRHLen:], src[:n])
		})
	}
	big := w.a.mr(t, make([]byte, 4097), 0)
	if _, err := x.PostSend(SendWR{Op: OpSend, AH: ah, SGE: []SGE{big.SGE(0, 4097)}}); err == nil {
		t.Error("a datagram of 4097 bytes was taken")
	}
}

// TestSRQ: queue pairs share receives, the limit is told once, and the last
// request of a queue pair that fails is told too.
func TestSRQ(t *testing.T) {
	w := newWorld(t, 2, model.Params{})
	srq, err := w.b.pd.CreateSRQ(64, 1)
	must(t, err)
	const n, many = 3000, 40
	src, dst := noise(n*many, 1), make([]byte, n*many)
	mx, my := w.a.mr(t, src, 0), w.b.mr(t, dst, LocalWrite)
	var from, to [2]*QP
	for i := range 2 {
		from[i], to[i] = w.a.qp(t, QPConfig{Type: RC}), w.b.qp(t, QPConfig{Type: RC, SRQ: srq})
		must(t, from[i].Connect(w.b.dev.GID(), to[i].QPN()))
		must(t, to[i].Connect(w.a.dev.GID(), from[i].QPN()))
	}
	for i := range many {
		must(t, srq.PostRecv(RecvWR{ID: uint64(i), SGE: []SGE{my.SGE(i*n, n)}}))
	}
	must(t, srq.SetLimit(10))
	for i := range many {
		post(t, from[i%2], SendWR{ID: uint64(i), Op: OpSendImm, Imm: uint32(i), SGE: []SGE{mx.SGE(i*n, n)}})
	}
	last := map[uint32]uint32{}
	for range many {
		c := w.b.next(t)
		if c.Status != Success || last[c.QPN] > c.Imm {
			t.Fatalf("completion %+v after %d", c, last[c.QPN])
		}
		last[c.QPN] = c.Imm
		same(t, "content", dst[int(c.ID)*n:][:n], src[int(c.Imm)*n:][:n])
	}
	must(t, to[0].Modify(Error, Attr{}, 0))
	want := map[EventKind]int{EventSRQLimit: 1, EventLastWQEReached: 1, EventPortActive: 1}
	for range 3 {
		select {
		case e := <-w.b.dev.Events():
			want[e.Kind]--
		case <-time.After(10 * time.Second):
			t.Fatalf("events missing: %v", want)
		}
	}
	for k, n := range want {
		if n != 0 {
			t.Errorf("event %d: %d too few", k, n)
		}
	}
}

func TestSolicited(t *testing.T) {
	w := newWorld(t, 1, model.Params{})
	x, y := w.pair(t, RC)
	recv(t, y, RecvWR{ID: 1}, RecvWR{ID: 2})
	w.b.cq.Arm(true)
	post(t, x, SendWR{ID: 1, Op: OpSend, Flags: Inline})
	w.b.expect(t, 1, Success)
	select {
	case <-w.b.cq.Notify():
		t.Error("notified of what was not solicited")
	default:
	}
	post(t, x, SendWR{ID: 2, Op: OpSend, Flags: Inline | Solicited})
	select {
	case <-w.b.cq.Notify():
	case <-time.After(10 * time.Second):
		t.Error("not notified")
	}
	w.b.expect(t, 2, Success)
}

// TestFence: a request with a fence begins only when the READs before it are
// complete; one READ may be under way at a time, so they take turns.
func TestFence(t *testing.T) {
	w := newWorld(t, 2, model.Params{Rate: 1_000_000_000})
	x, y := w.pair(t, RC)
	_ = y
	const n = 1 << 20
	a, b := make([]byte, n), noise(n, 4)
	want := noise(n, 4)
	mx, my := w.a.mr(t, a, all), w.b.mr(t, b, all)
	zero := w.a.mr(t, make([]byte, n), all)
	post(t, x, SendWR{ID: 1, Op: OpRead, SGE: []SGE{mx.SGE(0, n)}, RemoteAddr: base, RKey: my.RKey()},
		SendWR{ID: 2, Op: OpWrite, Flags: Fence, SGE: []SGE{zero.SGE(0, n)}, RemoteAddr: base, RKey: my.RKey()})
	w.a.expect(t, 1, Success)
	w.a.expect(t, 2, Success)
	same(t, "what was read before", a, want)
	same(t, "what was written after", b, make([]byte, n))
}

// TestManyMRs: the advertised number of regions is a true one, and all comes
// back.
func TestManyMRs(t *testing.T) {
	s := newSide(t, "alone", 1)
	mem := make([]byte, 4096)
	var list []*MR
	for range s.dev.Limits().MRs {
		m, err := s.pd.RegMR(mem, base, all)
		must(t, err)
		list = append(list, m)
	}
	if _, err := s.pd.RegMR(mem, base, all); err != ErrQuota {
		t.Errorf("one more: %v, want %v", err, ErrQuota)
	}
	for _, m := range list {
		must(t, m.Dereg())
	}
	must(t, s.pd.Dealloc())
	if len(s.dev.keys) != 0 || s.dev.bytes != 0 {
		t.Errorf("left behind: %d keys, %d bytes", len(s.dev.keys), s.dev.bytes)
	}
}
