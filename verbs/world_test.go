// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/tbnet2/tbnet2/fabric"
	"github.com/tbnet2/tbnet2/rail/mem"
	"github.com/tbnet2/tbnet2/rail/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// base is where tests register memory.
const base = uint64(0x7f00_0000_0000)

// side is one host with what a test needs of it.
type side struct {
	dev *Device
	pd  *PD
	cq  *CQ
}

// world is two hosts and the links between them.
type world struct {
	a, b  *side
	links []*mem.Link
}

func openDevice(tb testing.TB, name string) *Device {
	tb.Helper()
	d, err := Open(Config{Fabric: fabric.Config{Host: uuid.NewSHA1(uuid.NameSpaceDNS, []byte(name)), HostName: name, Endpoint: 1}})
	must(tb, err)
	tb.Cleanup(func() { must(tb, d.Close()) })
	return d
}

func newSide(tb testing.TB, name string, cqes int) *side {
	s := &side{dev: openDevice(tb, name)}
	var err error
	s.pd, err = s.dev.AllocPD()
	must(tb, err)
	s.cq, err = s.dev.CreateCQ(cqes)
	must(tb, err)
	return s
}

func newWorld(tb testing.TB, rails int, p model.Params, mtus ...int) *world {
	tb.Helper()
	w := &world{a: newSide(tb, "a", 4096), b: newSide(tb, "b", 4096)}
	for i := range rails {
		mtu := 9000
		if i < len(mtus) {
			mtu = mtus[i]
		}
		name := fmt.Sprintf("rail%d", i)
		l, err := mem.New(mem.Config{Name: name, MTU: mtu, Seed: uint64(i + 1), Params: p, Group: uint64(i)})
		must(tb, err)
		w.links = append(w.links, l)
		must(tb, w.a.dev.Fabric().AddRail(l.A(), fabric.RailOptions{Name: name}))
		must(tb, w.b.dev.Fabric().AddRail(l.B(), fabric.RailOptions{Name: name}))
	}
	for _, s := range []*side{w.a, w.b} {
		wait(tb, "rails", func() bool { return s.dev.PortActive() && railsUp(s.dev) == rails })
	}
	return w
}

func railsUp(d *Device) (n int) {
	for _, p := range d.Fabric().Status().Peers {
		for _, r := range p.Rails {
			if r.State == "up" && r.MTU == min(r.LocalMTU, r.PeerMTU) {
				n++
			}
		}
	}
	return n
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func wait(tb testing.TB, what string, f func() bool) {
	tb.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !f() {
		select {
		case <-tick.C:
		case <-deadline:
			tb.Fatalf("%s: not within 20 s", what)
		}
	}
}

// next takes one completion.
func (s *side) next(tb testing.TB) WC {
	tb.Helper()
	var w [1]WC
	wait(tb, "a completion", func() bool { return s.cq.Poll(w[:]) == 1 })
	return w[0]
}

// expect takes a completion and holds it to what is wanted of it.
func (s *side) expect(tb testing.TB, id uint64, status Status) WC {
	tb.Helper()
	w := s.next(tb)
	if w.ID != id || w.Status != status {
		tb.Fatalf("got completion %d %v, want %d %v", w.ID, w.Status, id, status)
	}
	return w
}

func (s *side) qp(tb testing.TB, c QPConfig) *QP {
	tb.Helper()
	c.SendCQ, c.RecvCQ = s.cq, s.cq
	if c.SendWRs == 0 {
		c.SendWRs, c.RecvWRs = 256, 256
	}
	c.SGEs, c.SignalAll = 4, true
	q, err := s.pd.CreateQP(c)
	must(tb, err)
	return q
}

func (w *world) pair(tb testing.TB, t QPType) (x, y *QP) {
	tb.Helper()
	x, y = w.a.qp(tb, QPConfig{Type: t}), w.b.qp(tb, QPConfig{Type: t})
	must(tb, x.Connect(w.b.dev.GID(), y.QPN()))
	must(tb, y.Connect(w.a.dev.GID(), x.QPN()))
	return x, y
}

func (s *side) mr(tb testing.TB, b []byte, a Access) *MR {
	tb.Helper()
	m, err := s.pd.RegMR(b, base, a)
	must(tb, err)
	return m
}

func noise(n int, seed uint64) []byte {
	b := make([]byte, n)
	r := rand.New(rand.NewPCG(seed, 1))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func same(tb testing.TB, what string, got, want []byte) {
	tb.Helper()
	if !bytes.Equal(got, want) {
		tb.Fatalf("%s: the bytes differ", what)
	}
}

func post(tb testing.TB, q *QP, w ...SendWR) {
	tb.Helper()
	_, err := q.PostSend(w...)
	must(tb, err)
}

func recv(tb testing.TB, q *QP, w ...RecvWR) {
	tb.Helper()
	_, err := q.PostRecv(w...)
	must(tb, err)
}
