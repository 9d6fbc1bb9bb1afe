// SPDX-License-Identifier: Apache-2.0

package packet

import (
	"fmt"
	"testing"

	"github.com/vishvananda/netns"
	"go.uber.org/goleak"

	"github.com/tbnet2/tbnet2/rail/netnstest"
	"github.com/tbnet2/tbnet2/rail/railtest"
)

func TestMain(m *testing.M) {
	netnstest.Enter()
	goleak.VerifyTestMain(m)
}

// open opens r0 in a namespace for the contract's endpoint.
func open(tb testing.TB, ns netns.NsHandle, bypass bool) *Device {
	tb.Helper()
	d, err := Open(Config{Interface: "r0", NetNS: int(ns), Endpoint: railtest.Endpoint, Bypass: bypass})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = d.Close() })
	return d
}

func TestContract(t *testing.T) {
	for _, c := range []struct {
		name  string
		mtu   int
		queue int // bytes in the token bucket; 0: none, frames pass it by
	}{
		{"bypass, MTU 65535", 65535, 0},
		{"bypass, MTU 1500", 1500, 0},
		{"queue below the socket's buffer, MTU 1500", 1500, 256 << 10}, // full: ENOBUFS
		{"queue above it, MTU 9000", 9000, 256 << 20},                  // full: EAGAIN
	} {
		t.Run(c.name, func(t *testing.T) {
			railtest.Run(t, func(tb testing.TB) railtest.Pair {
				return contractPair(tb, c.mtu, c.queue)
			})
		})
	}
}

func contractPair(tb testing.TB, mtu, queue int) railtest.Pair {
	tb.Helper()
	na, nb := netnstest.New(tb), netnstest.New(tb)
	netnstest.Quiet(tb, na)
	netnstest.Quiet(tb, nb)
	netnstest.Veth(tb, na, nb, "r0", "r0", mtu)
	netnstest.InOrder(tb, na, "r0")
	netnstest.InOrder(tb, nb, "r0")
	p := railtest.Pair{
		SetCarrier: func(up bool) { netnstest.SetUp(tb, nb, "r0", up) },
		SetMTU: func(mtu int) {
			netnstest.SetMTU(tb, na, "r0", mtu)
			netnstest.SetMTU(tb, nb, "r0", mtu)
		},
	}
	if queue > 0 {
		p.Congest = func() { netnstest.Shape(tb, na, "r0", 20e6, queue) }
		p.Relax = func() { netnstest.Shape(tb, na, "r0", 2e9, queue) }
	}
	p.A, p.B = open(tb, na, queue == 0), open(tb, nb, queue == 0)
	return p
}

func TestOrderOverManyQueues(t *testing.T) {
	for _, queues := range []int{2, 8} {
		t.Run(fmt.Sprint(queues), func(t *testing.T) {
			na, nb := netnstest.New(t), netnstest.New(t)
			netnstest.VethQueues(t, na, nb, "r0", "r0", 9000, queues)
			netnstest.InOrder(t, na, "r0")
			netnstest.InOrder(t, nb, "r0")
			a, b := open(t, na, true), open(t, nb, true)
			if a.tx.pin == nil {
				t.Fatal("a device with several queues is not pinned")
			}
			railtest.Order(t, railtest.Pair{A: a, B: b})
		})
	}
}
