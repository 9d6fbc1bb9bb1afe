// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"fmt"
	"testing"
	"time"

	"github.com/tbnet2/tbnet2/fabric"
	"github.com/tbnet2/tbnet2/lab"
)

// TestU1_PeerRestarts restarts a peer 100 times, half of them without a word:
// all rails are ready within 5 s of its return, and nobody touches the other
// host.
func TestU1_PeerRestarts(t *testing.T) {
	const rails, restarts, within = 4, 100, 5 * time.Second
	l, err := lab.New(t.Context(), lab.Pair(2, 2), lab.ModeMemory)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	a := newHost(t, "a", 1)
	a.open(t, l.Host("a"))
	slowest := time.Duration(0)
	for i := range restarts {
		b := newHost(t, "b", 2)
		begun := time.Now()
		b.open(t, l.Host("b"))
		wait(t, fmt.Sprintf("restart %d: all rails up", i), within, func() bool { return a.up() == rails && b.up() == rails })
		slowest = max(slowest, time.Since(begun))
		if i%25 == 0 {
			echo(t, b)
			if err := talk(a, 2); err != nil {
				t.Fatalf("restart %d: %v", i, err)
			}
		}
		silence(t, l, i%2 == 1) // then what b says at its end is not heard
		b.close()
		silence(t, l, false)
	}
	t.Logf("slowest return of all rails %v", slowest)
}

// silence has the cables lose what comes from b, or not.
func silence(t *testing.T, l *lab.Lab, on bool) {
	t.Helper()
	for _, cable := range []string{"cable1", "cable2"} {
		if err := l.Set(cable, lab.Change{Discard: &on, From: "b"}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRingOfThree has every host reach both others, each over its own cable, and
// survive the loss of a cable towards one.
func TestRingOfThree(t *testing.T) {
	hosts := []*host{newHost(t, "a", 1), newHost(t, "b", 2), newHost(t, "c", 3)}
	for i, h := range hosts {
		next := hosts[(i+1)%3]
		for r := range 2 {
			wire(t, h, next, fmt.Sprintf("%s%s%d", h.name, next.name, r), uint64(10*i+r+1))
		}
	}
	for _, h := range hosts {
		wait(t, h.name+": four rails up", 5*time.Second, func() bool { return h.up() == 4 })
		echo(t, h)
	}
	for i, h := range hosts {
		for _, other := range []int{(i + 1) % 3, (i + 2) % 3} {
			if err := talk(h, other+1); err != nil {
				t.Errorf("%s to %s: %v", h.name, hosts[other].name, err)
			}
		}
	}
}

// TestRailsSetUnderTraffic changes the rails in use while a connection is busy:
// TCP notices nothing, and only the chosen rails carry data.
func TestRailsSetUnderTraffic(t *testing.T) {
	a, b := newHost(t, "a", 1), newHost(t, "b", 2)
	for r := range 4 {
		wire(t, a, b, fmt.Sprintf("rail%d", r), uint64(r+1))
	}
	wait(t, "four rails up", 5*time.Second, func() bool { return a.up() == 4 && b.up() == 4 })
	echo(t, b)
	c, err := a.stack.Dial("tcp", "10.9.0.2:7")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, set := range [][]fabric.RailChoice{
		{{Name: "rail0"}},
		{{Name: "rail1"}, {Name: "rail2"}},
		{{Name: "rail0", Weight: 1}, {Name: "rail3", Weight: 3}},
		{{Name: "rail0"}, {Name: "rail1"}, {Name: "rail2"}, {Name: "rail3"}},
	} {
		if err := a.fabric.SetRails("b", set); err != nil {
			t.Fatal(err)
		}
		if err := say(c, 4<<20); err != nil { // what was under way has left
			t.Fatal(err)
		}
		before := [4]uint64{}
		for r := range before {
			before[r] = a.sent(fmt.Sprintf("rail%d", r))
		}
		if err := say(c, 16<<20); err != nil {
			t.Fatal(err)
		}
		chosen := map[string]bool{}
		for _, choice := range set {
			chosen[choice.Name] = true
		}
		for r := range before {
			name := fmt.Sprintf("rail%d", r)
			carried := a.sent(name) - before[r]
			if !chosen[name] && carried != 0 {
				t.Errorf("with %v, %s carried %d bytes", set, name, carried)
			}
			if chosen[name] && carried == 0 {
				t.Errorf("with %v, %s carried nothing", set, name)
			}
		}
	}
	if n := a.stack.Stats().TCPRetransmits; n != 0 {
		t.Errorf("TCP sent %d segments again", n)
	}
}

func TestRailsSetRefusals(t *testing.T) {
	a, b := newHost(t, "a", 1), newHost(t, "b", 2)
	wire(t, a, b, "rail0", 1)
	wait(t, "the rail is up", 5*time.Second, func() bool { return a.up() == 1 })
	for name, f := range map[string]func() error{
		"unknown peer":           func() error { return a.fabric.SetRails("nobody", []fabric.RailChoice{{Name: "rail0"}}) },
		"unknown rail":           func() error { return a.fabric.SetRails("b", []fabric.RailChoice{{Name: "rail0"}, {Name: "rail9"}}) },
		"no rails":               func() error { return a.fabric.SetRails("b", nil) },
		"twice":                  func() error { return a.fabric.SetRails("b", []fabric.RailChoice{{Name: "rail0"}, {Name: "rail0"}}) },
		"negative weight":        func() error { return a.fabric.SetRails("b", []fabric.RailChoice{{Name: "rail0", Weight: -1}}) },
		"rail that is not there": func() error { return a.fabric.SetRailUp("rail9", false) },
	} {
		if f() == nil {
			t.Errorf("%s is taken", name)
		}
		if a.up() != 1 {
			t.Errorf("%s: half applied", name)
		}
	}
}
