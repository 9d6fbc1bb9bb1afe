// SPDX-License-Identifier: Apache-2.0

package verbs_test

import (
	"fmt"
	"log"
	"time"

	"github.com/google/uuid"

	"github.com/tbnet2/tbnet2/fabric"
	"github.com/tbnet2/tbnet2/rail/mem"
	"github.com/tbnet2/tbnet2/verbs"
)

// twoHosts joins two devices by rails in memory; on real hosts the rails are
// devices of package rail/packet.
func twoHosts(rails int) (a, b *verbs.Device) {
	a, b = open("a"), open("b")
	for i := range rails {
		link, err := mem.New(mem.Config{Name: fmt.Sprint("rail", i), MTU: 9000, Seed: uint64(i + 1)})
		check(err)
		check(a.Fabric().AddRail(link.A(), fabric.RailOptions{}))
		check(b.Fabric().AddRail(link.B(), fabric.RailOptions{}))
	}
	for _, d := range []*verbs.Device{a, b} {
		if e := <-d.Events(); e.Kind != verbs.EventPortActive {
			log.Fatalf("event %d", e.Kind)
		}
	}
	return a, b
}

func open(name string) *verbs.Device {
	d, err := verbs.Open(verbs.Config{Fabric: fabric.Config{
		Host: uuid.NewSHA1(uuid.NameSpaceDNS, []byte(name)), HostName: name, Endpoint: 1}})
	check(err)
	return d
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// end is what one side needs.
type end struct {
	pd *verbs.PD
	cq *verbs.CQ
	qp *verbs.QP
	mr *verbs.MR
}

func newEnd(d *verbs.Device, memory []byte, rights verbs.Access) (e end) {
	var err error
	e.pd, err = d.AllocPD()
	check(err)
	e.cq, err = d.CreateCQ(16)
	check(err)
	e.qp, err = e.pd.CreateQP(verbs.QPConfig{Type: verbs.RC, SendCQ: e.cq, RecvCQ: e.cq, SendWRs: 8, RecvWRs: 8})
	check(err)
	e.mr, err = e.pd.RegMR(memory, 0x10000, rights)
	check(err)
	return e
}

// await waits for one completion without spinning.
func (e end) await() verbs.WC {
	var w [1]verbs.WC
	for {
		e.cq.Arm(false)
		if e.cq.Poll(w[:]) == 1 {
			return w[0]
		}
		select {
		case <-e.cq.Notify():
		case <-time.After(10 * time.Second):
			log.Fatal("no completion")
		}
	}
}

// A message from one host into memory that the other has set out for it.
func ExampleQP_PostSend() {
	a, b := twoHosts(2)
	defer a.Close()
	defer b.Close()
	inbox := make([]byte, 32)
	x, y := newEnd(a, []byte("hello over every rail"), 0), newEnd(b, inbox, verbs.LocalWrite)
	check(x.qp.Connect(b.GID(), y.qp.QPN()))
	check(y.qp.Connect(a.GID(), x.qp.QPN()))

	_, err := y.qp.PostRecv(verbs.RecvWR{ID: 1, SGE: []verbs.SGE{y.mr.SGE(0, 32)}})
	check(err)
	_, err = x.qp.PostSend(verbs.SendWR{ID: 2, Op: verbs.OpSend, SGE: []verbs.SGE{x.mr.SGE(0, 21)}, Flags: verbs.Signaled})
	check(err)
	w := y.await()
	fmt.Println(w.Status, w.Bytes, string(inbox[:w.Bytes]))
	fmt.Println(x.await().Status)
	// Output:
	// success 21 hello over every rail
	// success
}

// One host reads from and counts in the other's memory; the program there has
// no part in it.
func ExampleQP_PostSend_oneSided() {
	a, b := twoHosts(2)
	defer a.Close()
	defer b.Close()
	here := make([]byte, 16)
	there := append(make([]byte, 8), "content!"...)
	x := newEnd(a, here, verbs.LocalWrite)
	y := newEnd(b, there, verbs.LocalWrite|verbs.RemoteRead|verbs.RemoteAtomic)
	check(x.qp.Connect(b.GID(), y.qp.QPN()))
	check(y.qp.Connect(a.GID(), x.qp.QPN()))

	_, err := x.qp.PostSend(
		verbs.SendWR{ID: 1, Op: verbs.OpFetchAdd, SGE: []verbs.SGE{x.mr.SGE(0, 8)}, RemoteAddr: 0x10000, RKey: y.mr.RKey(), CompareAdd: 5},
		verbs.SendWR{ID: 2, Op: verbs.OpRead, SGE: []verbs.SGE{x.mr.SGE(8, 8)}, RemoteAddr: 0x10008, RKey: y.mr.RKey(), Flags: verbs.Signaled})
	check(err)
	fmt.Println(x.await().Status, string(here[8:]))

	// Beyond the region is an error, not memory.
	_, err = x.qp.PostSend(verbs.SendWR{ID: 3, Op: verbs.OpRead, SGE: []verbs.SGE{x.mr.SGE(8, 8)}, RemoteAddr: 0x10009, RKey: y.mr.RKey()})
	check(err)
	fmt.Println(x.await().Status)
	// Output:
	// success content!
	// remote access error
}
