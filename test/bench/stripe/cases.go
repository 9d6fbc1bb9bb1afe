// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/tbnet2/tbnet2/lab"
	"github.com/tbnet2/tbnet2/test/rig"
)

// mtu of all rails, bytes.
const mtu = 9000

// link is a set of rails between two hosts.
type link struct {
	name     string
	topology lab.Topology
	rate     lab.Rate // of all rails together
	delayed  bool     // by the link model, which kernel MPTCP is not run over
	bar      float64  // percent of rate that one flow shall have
}

// scenario is one row's case: CASE/OUTLET/FLOWS.
type scenario struct {
	link
	outlet rig.Outlet
	flows  int
}

func (s scenario) name() string { return fmt.Sprintf("%s/%s/%d", s.link.name, s.outlet, s.flows) }

func scenarios() []scenario {
	var all []scenario
	for _, l := range links() {
		for _, o := range []rig.Outlet{rig.GVisor, rig.TAP} {
			for _, n := range []int{1, 16} {
				all = append(all, scenario{l, o, n})
			}
		}
	}
	return all
}

const (
	barClean = 97 // where nothing is lost
	barLoss  = 93
)

// Rates of the link model leave the processor to spare: one CPU of the two that
// the bars were set on moves frames of 9000 bytes through the model, the other
// runs both hosts.
func links() []link {
	us := lab.Microsecond
	return []link{
		buckets("equal-2", 500*lab.Mbit, 500*lab.Mbit),
		buckets("equal-4", 500*lab.Mbit, 500*lab.Mbit, 500*lab.Mbit, 500*lab.Mbit),
		buckets("unequal-700-1400", 700*lab.Mbit, 1400*lab.Mbit),
		modelled("skew-5-50us", barClean, 200*lab.Mbit, 0, 5*us, 50*us),
		modelled("skew-100-1000us", barClean, 200*lab.Mbit, 0, 100*us, 1000*us),
		modelled("skew-4x50-500us", barClean, 100*lab.Mbit, 0, 50*us, 200*us, 350*us, 500*us),
		modelled("loss-2e-4", barLoss, 200*lab.Mbit, lab.Percent/50, 5*us, 5*us),
	}
}

// buckets are rails behind the kernel's token buckets, each a cable of its own.
func buckets(name string, rates ...lab.Rate) link {
	l := link{name: name, topology: lab.Pair(len(rates), 1), bar: barClean}
	for i, r := range rates {
		c := &l.topology.Cables[i]
		c.Model, c.MTU, c.MTUB, c.Rate = lab.TBF, mtu, mtu, r
		l.rate += r
	}
	return l
}

// modelled are rails through the link model, each a cable of its own with a
// delay.
func modelled(name string, bar float64, rate lab.Rate, loss lab.Share, delays ...lab.Time) link {
	l := link{name: name, topology: lab.Pair(len(delays), 1), bar: bar, delayed: true}
	for i, d := range delays {
		c := &l.topology.Cables[i]
		c.Model, c.MTU, c.MTUB = lab.Relay, mtu, mtu
		c.Rate, c.Delay, c.Loss = rate, d, loss
		l.rate += rate
	}
	return l
}
