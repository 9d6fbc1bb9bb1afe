// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/tbnet2/tbnet2/rail/mem"
	"github.com/tbnet2/tbnet2/rail/model"
	"github.com/tbnet2/tbnet2/wire"
)

// TestU21_SlowConsumer: an outlet that is slow holds the sender back; no ring
// overflows, and what does not arrive is counted. In real time: the outlet
// sleeps under a lock, which stops the time of a bubble.
func TestU21_SlowConsumer(t *testing.T) {
	a, b := newFabric(t, "a", nil), newFabric(t, "b", nil)
	wireUp(t, a, b, 2, 9000, model.Params{Rate: 1e9, Delay: 50 * time.Microsecond})
	railsUp(t, a, 2)
	railsUp(t, b, 2)
	c := counter{slow: 2 * time.Millisecond}
	b.Port().Handle(c.handle(b))
	const packets = 200
	stream(t, a, 0, packets, 60000)
	eventually(t, "the end of all packets", 20*time.Second, func() bool {
		return c.seen()+b.Status().Peers[0].Receive.Skipped >= packets && a.Status().Peers[0].Send.InFlight == 0
	})
	if full := a.Status().Peers[0].Send.QueueFull; full == 0 {
		t.Error("the sender was never held back")
	}
	s := b.Status()
	c.mu.Lock()
	defer c.mu.Unlock()
	if skipped := s.Peers[0].Receive.Skipped; c.bad != "" || c.missed > skipped {
		t.Errorf("%d missed, %d counted as skipped; %s", c.missed, skipped, c.bad)
	}
	for _, d := range s.Devices {
		if d.Stats.RxDropped != 0 {
			t.Errorf("%s: %d frames found the ring full", d.Name, d.Stats.RxDropped)
		}
	}
}

// TestU43_UnequalMTU: status shows both ends' MTU, and packets pass.
func TestU43_UnequalMTU(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newFabric(t, "a", nil), newFabric(t, "b", nil)
		links := wireUp(t, a, b, 1, 9000, model.Params{})
		links[0].SetMTU(1, 1500)
		railsUp(t, a, 1)
		eventually(t, "both MTUs shown", 5*time.Second, func() bool {
			r := a.Status().Peers[0].Rails[0]
			return r.LocalMTU == 9000 && r.PeerMTU == 1500 && r.MTU == 1500
		})
		var c counter
		b.Port().Handle(c.handle(b))
		stream(t, a, 0, 50, 60000)
		eventually(t, "all packets", 10*time.Second, func() bool { return c.seen() == 50 })
		c.complete(t, a, b)
	})
}

// TestMismatchIsShown: what keeps two hosts apart is in both hosts' status.
func TestMismatchIsShown(t *testing.T) {
	for _, tt := range []struct {
		name, kind string
		change     func(*Config)
	}{
		{"service", "service_mismatch", func(c *Config) { c.Service = wire.ServiceTest }},
		{"uuid", "uuid_conflict", func(c *Config) { c.Host = testHost("a") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := newFabric(t, "a", nil), newFabric(t, "b", tt.change)
				wireUp(t, a, b, 1, 9000, model.Params{})
				for _, f := range []*Fabric{a, b} {
					eventually(t, "a mismatch", 5*time.Second, func() bool {
						m := f.Status().Mismatches
						return len(m) == 1 && m[0].Kind == tt.kind && len(f.Status().Peers) == 0
					})
				}
			})
		})
	}
}

// TestGarbage: bytes of any kind end no association, and all count.
func TestGarbage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newFabric(t, "a", nil), newFabric(t, "b", nil)
		links := wireUp(t, a, b, 1, 9000, model.Params{})
		railsUp(t, a, 1)
		index := uint32(0)
		for i := range *b.table.Load() {
			index = i
		}
		rng := rand.New(rand.NewPCG(1, 1))
		for i := range 5000 {
			f := make([]byte, rng.IntN(200))
			for j := range f {
				f[j] = byte(rng.Uint32())
			}
			if len(f) >= 8 && i%2 == 0 { // also with the right version and index
				f[0] = wire.Version<<4 | f[0]&0x0f
				f[4], f[5], f[6], f[7] = byte(index), byte(index>>8), byte(index>>16), byte(index>>24)
			}
			a.devices["rail0"].sendOne(links[0].B().Info().MAC, f) // Send is for one at a time
		}
		var c counter
		b.Port().Handle(c.handle(b))
		stream(t, a, 0, 50, 60000)
		eventually(t, "all packets", 10*time.Second, func() bool { return c.seen() == 50 })
		c.complete(t, a, b)
		s, dropped := b.Status(), uint64(0)
		for _, n := range s.Drops {
			dropped += n
		}
		s.Peers[0].Receive.Drops.Each(func(_ string, n uint64) { dropped += n })
		if dropped < 5000 {
			t.Errorf("%d drops counted of 5000 frames of garbage", dropped)
		}
	})
}

// TestNames: peers are found by name, UUID and unique start; errors say what
// is there.
func TestNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, c := newFabric(t, "a", nil), newFabric(t, "node2", nil), newFabric(t, "node3", nil)
		for i, other := range []*Fabric{b, c} {
			l, err := mem.New(mem.Config{Name: "x", Seed: uint64(i + 1)})
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(a.AddRail(l.A(), RailOptions{Name: []string{"r2", "r3"}[i]}), other.AddRail(l.B(), RailOptions{})); err != nil {
				t.Fatal(err)
			}
		}
		railsUp(t, a, 2)
		id := testHost("node2").String()
		for _, tt := range []struct {
			peer, rail, says string
			is               error
		}{
			{"node2", "r2", "", nil},
			{id, "r2", "", nil},
			{strings.ToUpper(id[:8]), "r2", "", nil},
			{"node2/1", "r2", "", nil},
			{"node2/2", "r2", "node2", ErrNoPeer},
			{"node", "r2", "UUID", ErrAmbiguous},
			{"node9", "r2", "node2, node3", ErrNoPeer},
			{"node2", "r3", "r2", ErrNoRail},
			{"node2", "zz", "zz", ErrNoRail},
			{"", "r2", "cut off", ErrNoRail},
		} {
			err := a.SetRails(tt.peer, []RailChoice{{Name: tt.rail}})
			if !errors.Is(err, tt.is) || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%q, %q: %v, want %v", tt.peer, tt.rail, err, tt.is)
			}
		}
	})
}

// TestSilentAndClosed: a fabric without rails is fine, and a closed one says
// so.
func TestSilentAndClosed(t *testing.T) {
	f, err := New(Config{Host: uuid.New(), HostName: "alone"})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Port().Send(numbered(0, 100)); err != nil || f.Status().Drops["no_peer"] != 1 {
		t.Errorf("a packet for nobody: %v, drops %v", err, f.Status().Drops)
	}
	events, _ := f.Subscribe()
	for range 2 {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, open := <-events; open {
		t.Error("events go on after Close")
	}
	if err := f.Port().Send(numbered(0, 100)); err != ErrClosed {
		t.Errorf("Send after Close: %v", err)
	}
	if err := f.Port().WaitSend(); err != ErrClosed {
		t.Errorf("WaitSend after Close: %v", err)
	}
}
