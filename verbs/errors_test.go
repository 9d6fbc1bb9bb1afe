// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/tbnet2/tbnet2/rail/model"
)

// TestErrorStatuses: each way to fail has its status, on both sides, flushes
// what follows, and touches nothing outside what was granted.
func TestErrorStatuses(t *testing.T) {
	w := newWorld(t, 2, model.Params{})
	src, mem := noise(8192, 5), make([]byte, 3*4096) // a page of canary on either side
	for i := range mem {
		mem[i] = 0xc5
	}
	before := bytes.Clone(mem)
	mx, err := w.a.pd.RegMR(src, base, all)
	must(t, err)
	my, err := w.b.pd.RegMR(mem[4096:8192], base, all)
	must(t, err)
	readOnly, err := w.b.pd.RegMR(mem[4096:8192], base, RemoteRead)
	must(t, err)
	noRead, err := w.b.pd.RegMR(mem[4096:8192], base, LocalWrite|RemoteWrite)
	must(t, err)
	other, err := w.b.dev.AllocPD()
	must(t, err)
	otherPD, err := other.RegMR(mem[4096:8192], base, all)
	must(t, err)
	otherPeer, err := w.b.pd.RegMRFor(GID{1}, mem[4096:8192], base, all)
	must(t, err)
	gone, err := w.b.pd.RegMR(mem[4096:8192], base, all)
	must(t, err)
	must(t, gone.Dereg())
	sge := []SGE{mx.SGE(0, 4096)}
	eight := []SGE{mx.SGE(0, 8)}
	cases := []struct {
		name string
		wr   SendWR
		want Status
	}{
		{"local key", SendWR{Op: OpWrite, SGE: []SGE{{base, 8, 12345}}, RemoteAddr: base, RKey: my.RKey()}, LocalProtection},
		{"remote key as local", SendWR{Op: OpWrite, SGE: []SGE{{base, 8, mx.RKey()}}, RemoteAddr: base, RKey: my.RKey()}, LocalProtection},
		{"local bounds", SendWR{Op: OpWrite, SGE: []SGE{{base + 8190, 8, mx.LKey()}}, RemoteAddr: base, RKey: my.RKey()}, LocalProtection},
		{"local bounds wrap", SendWR{Op: OpWrite, SGE: []SGE{{^uint64(0), 8, mx.LKey()}}, RemoteAddr: base, RKey: my.RKey()}, LocalProtection},
		{"remote key", SendWR{Op: OpWrite, SGE: sge, RemoteAddr: base, RKey: 99}, RemoteAccessError},
		{"local key as remote", SendWR{Op: OpWrite, SGE: sge, RemoteAddr: base, RKey: my.LKey()}, RemoteAccessError},
		{"one byte too far", SendWR{Op: OpWrite, SGE: sge, RemoteAddr: base + 1, RKey: my.RKey()}, RemoteAccessError},
		{"one byte before", SendWR{Op: OpWrite, SGE: eight, RemoteAddr: base - 1, RKey: my.RKey()}, RemoteAccessError},
		{"address wraps", SendWR{Op: OpWrite, SGE: eight, RemoteAddr: ^uint64(3), RKey: my.RKey()}, RemoteAccessError},
		{"long write, end outside", SendWR{Op: OpWrite, SGE: []SGE{mx.SGE(0, 8192)}, RemoteAddr: base, RKey: my.RKey()}, RemoteAccessError},
		{"no right to write", SendWR{Op: OpWrite, SGE: sge, RemoteAddr: base, RKey: readOnly.RKey()}, RemoteAccessError},
		{"no right to read", SendWR{Op: OpRead, SGE: sge, RemoteAddr: base, RKey: noRead.RKey()}, RemoteAccessError},
		{"read too far", SendWR{Op: OpRead, SGE: sge, RemoteAddr: base + 1, RKey: my.RKey()}, RemoteAccessError},
		{"no right to atomics", SendWR{Op: OpFetchAdd, SGE: eight, RemoteAddr: base, RKey: noRead.RKey(), CompareAdd: 1}, RemoteAccessError},
		{"atomic at the end", SendWR{Op: OpFetchAdd, SGE: eight, RemoteAddr: base + 4096, RKey: my.RKey(), CompareAdd: 1}, RemoteAccessError},
		{"other domain", SendWR{Op: OpWrite, SGE: sge, RemoteAddr: base, RKey: otherPD.RKey()}, RemoteAccessError},
		{"other peer's", SendWR{Op: OpWrite, SGE: sge, RemoteAddr: base, RKey: otherPeer.RKey()}, RemoteAccessError},
		{"deregistered", SendWR{Op: OpWrite, SGE: sge, RemoteAddr: base, RKey: gone.RKey()}, RemoteAccessError},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			x, y := w.pair(t, RC)
			recv(t, y, RecvWR{ID: 50})
			c.wr.ID = 1
			post(t, x, c.wr, SendWR{ID: 2, Op: OpSend, Flags: Inline})
			w.a.expect(t, 1, c.want)
			w.a.expect(t, 2, FlushError)
			if x.State() != Error {
				t.Errorf("state %d, want Error", x.State())
			}
			if c.want == RemoteAccessError {
				w.b.expect(t, 50, FlushError)
			}
			same(t, "memory", mem, before)
			must(t, x.Destroy())
			must(t, y.Destroy())
		})
	}
}

func TestReceiveErrors(t *testing.T) {
	w := newWorld(t, 2, model.Params{})
	mem := make([]byte, 100)
	my := w.b.mr(t, mem, LocalWrite)
	weak, err := w.b.pd.RegMR(mem, base, 0)
	must(t, err)
	for _, c := range []struct {
		name        string
		sge         SGE
		local, peer Status
	}{
		{"too long", my.SGE(0, 9), LocalLengthError, RemoteInvalid},
		{"no right", weak.SGE(0, 10), LocalProtection, RemoteOperationErr},
		{"key", SGE{base, 10, 3}, LocalProtection, RemoteOperationErr},
	} {
		t.Run(c.name, func(t *testing.T) {
			x, y := w.pair(t, RC)
			recv(t, y, RecvWR{ID: 1, SGE: []SGE{c.sge}})
			post(t, x, SendWR{ID: 2, Op: OpSend, Flags: Inline, InlineData: make([]byte, 10)})
			w.b.expect(t, 1, c.local)
			w.a.expect(t, 2, c.peer)
		})
	}
}

func TestRNR(t *testing.T) {
	w := newWorld(t, 2, model.Params{})
	x, y := w.pair(t, RC)
	src, dst := noise(50_000, 1), make([]byte, 50_000)
	mx, my := w.a.mr(t, src, all), w.b.mr(t, dst, all)
	post(t, x, SendWR{ID: 1, Op: OpSend, SGE: []SGE{mx.SGE(0, 25_000)}}, SendWR{ID: 2, Op: OpSend, SGE: []SGE{mx.SGE(25_000, 25_000)}})
	wait(t, "a refusal", func() bool {
		x.pd.device.mu.Lock()
		defer x.pd.device.mu.Unlock()
		return x.sq[0].head.Attempt > 2
	})
	recv(t, y, RecvWR{ID: 1, SGE: []SGE{my.SGE(0, 25_000)}}, RecvWR{ID: 2, SGE: []SGE{my.SGE(25_000, 25_000)}})
	for _, s := range []*side{w.a, w.b} {
		s.expect(t, 1, Success)
		s.expect(t, 2, Success)
	}
	same(t, "content", dst, src)

	x, y = w.a.qp(t, QPConfig{Type: RC}), w.b.qp(t, QPConfig{Type: RC})
	must(t, y.Connect(w.a.dev.GID(), x.QPN()))
	a := Attr{Access: all, Remote: w.b.dev.GID(), RemoteQPN: y.QPN(), RNRRetries: 2}
	must(t, x.Modify(Init, a, MaskAccess))
	must(t, x.Modify(ReadyToReceive, a, MaskRemote|MaskMaxPeer|MaskRNRTimer))
	must(t, x.Modify(ReadyToSend, a, MaskTimeout|MaskRetries|MaskRNRRetries|MaskMaxReads))
	post(t, x, SendWR{ID: 9, Op: OpSend, Flags: Inline})
	w.a.expect(t, 9, RNRRetryExceeded)
}

// TestLastRailDies: a dead rail is not noticed; the last one's death is told
// as a port error, and requests fail when their retries are used up.
func TestLastRailDies(t *testing.T) {
	w := newWorld(t, 3, model.Params{Rate: 400_000_000})
	x, y := w.pair(t, RC)
	_ = y
	const n = 8 << 20
	src, dst := noise(n, 1), make([]byte, n)
	mx, my := w.a.mr(t, src, all), w.b.mr(t, dst, all)
	post(t, x, SendWR{ID: 1, Op: OpWrite, SGE: []SGE{mx.SGE(0, n)}, RemoteAddr: base, RKey: my.RKey()})
	w.links[0].Plug(false)
	w.links[1].Stall(0, time.Second)
	w.a.expect(t, 1, Success)
	same(t, "content", dst, src)
	for w.a.dev.PortActive() && len(w.a.dev.Events()) > 0 {
		<-w.a.dev.Events() // the port's beginning
	}
	for _, l := range w.links {
		l.Plug(false)
	}
	post(t, x, SendWR{ID: 2, Op: OpWrite, SGE: []SGE{mx.SGE(0, n)}, RemoteAddr: base, RKey: my.RKey()}, SendWR{ID: 3, Op: OpSend, Flags: Inline})
	select {
	case e := <-w.a.dev.Events():
		if e.Kind != EventPortError {
			t.Errorf("event %d, want a port error", e.Kind)
		}
	case <-time.After(20 * time.Second):
		t.Error("no event")
	}
	w.a.expect(t, 2, RetryExceeded)
	w.a.expect(t, 3, FlushError)
}

func TestStates(t *testing.T) {
	w := newWorld(t, 1, model.Params{})
	q := w.a.qp(t, QPConfig{Type: RC})
	if _, err := q.PostSend(SendWR{Op: OpSend}); !errors.Is(err, ErrState) {
		t.Errorf("send in Reset: %v", err)
	}
	if _, err := q.PostRecv(RecvWR{}); !errors.Is(err, ErrState) {
		t.Errorf("receive in Reset: %v", err)
	}
	a := Attr{Remote: w.b.dev.GID()}
	for _, c := range []struct {
		to   State
		mask AttrMask
		want error
	}{
		{ReadyToReceive, 0, ErrState}, {ReadyToSend, 0, ErrState}, {Error, 0, ErrState},
		{Init, 0, ErrInvalid}, {Init, MaskAccess | MaskQKey, ErrInvalid}, {Init, MaskAccess, nil},
		{ReadyToSend, 0, ErrState}, {ReadyToReceive, MaskRemote, ErrInvalid},
		{ReadyToReceive, MaskRemote | MaskMaxPeer | MaskRNRTimer, nil}, {Init, MaskAccess, ErrState},
		{ReadyToSend, MaskTimeout | MaskRetries | MaskRNRRetries | MaskMaxReads, nil},
		{SendDrained, 0, nil}, {ReadyToSend, 0, nil}, {Error, 0, nil}, {ReadyToSend, 0, ErrState}, {Reset, 0, nil},
	} {
		if err := q.Modify(c.to, a, c.mask); !errors.Is(err, c.want) {
			t.Errorf("to %d with %x: %v, want %v", c.to, c.mask, err, c.want)
		}
	}
	a.Remote = GID{9}
	must(t, q.Modify(Init, a, MaskAccess))
	if err := q.Modify(ReadyToReceive, a, MaskRemote|MaskMaxPeer|MaskRNRTimer); !errors.Is(err, ErrNoPeer) {
		t.Errorf("nobody's address: %v", err)
	}
}

func TestCQOverrun(t *testing.T) {
	w := newWorld(t, 1, model.Params{})
	small, err := w.a.dev.CreateCQ(2)
	must(t, err)
	x, err := w.a.pd.CreateQP(QPConfig{Type: RC, SendCQ: small, RecvCQ: w.a.cq, SendWRs: 8, SignalAll: true})
	must(t, err)
	y := w.b.qp(t, QPConfig{Type: RC})
	must(t, x.Connect(w.b.dev.GID(), y.QPN()))
	must(t, y.Connect(w.a.dev.GID(), x.QPN()))
	for i := range uint64(3) {
		recv(t, y, RecvWR{ID: i})
		post(t, x, SendWR{ID: i, Op: OpSend, Flags: Inline})
	}
	seen := map[EventKind]bool{}
	for !seen[EventCQError] || !seen[EventQPFatal] {
		select {
		case e := <-w.a.dev.Events():
			seen[e.Kind] = true
		case <-time.After(10 * time.Second):
			t.Fatalf("events %v", seen)
		}
	}
	if x.State() != Error {
		t.Errorf("state %d, want Error", x.State())
	}
}
