// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/tbnet2/tbnet2/fabric"
	"github.com/tbnet2/tbnet2/lab"
	"github.com/tbnet2/tbnet2/userstack"
)

// netLab builds a lab of namespaces; it ends with the test.
func netLab(t *testing.T, topo lab.Topology) *lab.Lab {
	t.Helper()
	s := lab.Detect().Get(lab.ModeNamespaces)
	if !s.OK {
		t.Skipf("needs network namespaces: %s", s.Why)
	}
	l, err := lab.New(t.Context(), topo, lab.ModeNamespaces)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// speak makes a program on a node: an endpoint of the node's host, with a stack
// of its own, 10.9.0.n.
func speak(t *testing.T, node *lab.Node, endpoint uint8, n int) *host {
	t.Helper()
	f, err := fabric.New(fabric.Config{Host: node.UUID(), HostName: node.Name(), Endpoint: endpoint, Retransmit: true})
	if err != nil {
		t.Fatal(err)
	}
	address := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 9, 0, byte(n)}), 24)
	s, err := userstack.New(f.Port(), userstack.Config{Host: id(fmt.Sprint(n)), Addresses: []netip.Prefix{address}})
	if err != nil {
		t.Fatal(err)
	}
	h := &host{node.Name(), f, s}
	t.Cleanup(h.close)
	devs, err := node.OpenRailsFor(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range devs {
		if err := f.AddRail(d, fabric.RailOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// TestEndpointsShareRails has two programs of one host and one of another on
// the same two rails: each reaches each of the other host, at the same time.
func TestEndpointsShareRails(t *testing.T) {
	l := netLab(t, lab.Pair(2, 1))
	one, two, other := speak(t, l.Host("a"), 1, 1), speak(t, l.Host("a"), 2, 2), speak(t, l.Host("b"), 1, 3)
	wait(t, "two rails to each", 5*time.Second, func() bool { return one.up() == 2 && two.up() == 2 && other.up() == 4 })
	echo(t, other)
	errs := make(chan error, 2)
	for _, h := range []*host{one, two} {
		go func() {
			c, err := h.stack.Dial("tcp", "10.9.0.3:7")
			if err == nil {
				err = say(c, 8<<20)
				_ = c.Close()
			}
			errs <- err
		}()
	}
	for range 2 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// TestSwitchedHosts has three hosts with two ports each on two switches: every
// two hosts make two rails, and all talk.
func TestSwitchedHosts(t *testing.T) {
	l := netLab(t, lab.Switched(3, 2))
	var hosts []*host
	for i, n := range l.Hosts() {
		hosts = append(hosts, speak(t, n, 1, i+1))
	}
	for _, h := range hosts {
		wait(t, h.name+": two rails to each of two", 10*time.Second, func() bool { return h.up() == 4 })
		echo(t, h)
	}
	for i, h := range hosts {
		for other := range hosts {
			if other == i {
				continue
			}
			if err := talk(h, other+1); err != nil {
				t.Errorf("%s to %s: %v", h.name, hosts[other].name, err)
			}
		}
	}
}
