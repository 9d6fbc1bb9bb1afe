// SPDX-License-Identifier: Apache-2.0

package lab_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tbnet2/tbnet2/lab"
	"github.com/tbnet2/tbnet2/rail"
	"github.com/tbnet2/tbnet2/wire"
)

// modes runs a test in memory, and in namespaces where there are any.
func modes(t *testing.T, f func(t *testing.T, mode lab.Mode)) {
	t.Run("memory", func(t *testing.T) { f(t, lab.ModeMemory) })
	t.Run("namespaces", func(t *testing.T) { f(t, netMode(t)) })
}

// open opens all rails of a host; they are closed with the test.
func open(t testing.TB, n *lab.Node) []rail.Device {
	t.Helper()
	devs, err := n.OpenRails()
	if err != nil {
		t.Fatalf("OpenRails: %v", err)
	}
	t.Cleanup(func() {
		for _, d := range devs {
			if err := d.Close(); err != nil {
				t.Errorf("Close %s: %v", d.Info().Name, err)
			}
		}
	})
	return devs
}

// frame is one for endpoint 0, of size bytes.
func frame(to rail.MAC, size int, fill byte) rail.TxFrame {
	head := make([]byte, wire.HeaderLen)
	h := wire.Header{Type: wire.TypeData, Index: 0x100, Length: uint16(size - wire.HeaderLen)}
	h.Put(head)
	return rail.TxFrame{To: to, Head: head, Body: [][]byte{bytes.Repeat([]byte{fill}, size-wire.HeaderLen)}}
}

// cross sends one frame and waits for it.
func cross(t *testing.T, from, to rail.Device, fill byte) {
	t.Helper()
	mtu := min(from.Info().MTU, to.Info().MTU)
	f := frame(to.Info().MAC, mtu, fill)
	if _, err := from.Send([]rail.TxFrame{f}); err != nil {
		t.Fatalf("Send: %v", err)
	}
	var in [1]rail.RxFrame
	if _, err := to.Recv(in[:]); err != nil {
		t.Fatalf("Recv: %v", err)
	}
	want := append(append([]byte{}, f.Head...), f.Body[0]...)
	if !bytes.Equal(in[0].Data, want) || in[0].From != from.Info().MAC {
		t.Errorf("got %d bytes from %s, want %d from %s", len(in[0].Data), in[0].From, len(want), from.Info().MAC)
	}
}

func TestOpenRails(t *testing.T) {
	modes(t, func(t *testing.T, mode lab.Mode) {
		topo := lab.Pair(2, 2)
		topo.Cables[1].MTU, topo.Cables[1].MTUB = 9000, 1500
		l := build(t, topo, mode)
		a, b := open(t, l.Host("a")), open(t, l.Host("b"))
		var got [2][]int
		for i := range a {
			for side, d := range []rail.Device{a[i], b[i]} {
				info := d.Info()
				got[side] = append(got[side], info.MTU)
				if want := l.Host("a").RailNames()[i]; info.Name != want || !info.Carrier {
					t.Errorf("rail %d: name %q, carrier %v, want %q with carrier", i, info.Name, info.Carrier, want)
				}
			}
			if a[i].Info().Group != b[i].Info().Group || a[i].Info().Group != a[i/2*2].Info().Group {
				t.Errorf("rail %d: groups are %x and %x, want one for each cable", i, a[i].Info().Group, b[i].Info().Group)
			}
			cross(t, a[i], b[i], byte(i))
			cross(t, b[i], a[i], byte(i+10))
		}
		if a[0].Info().Group == a[2].Info().Group {
			t.Error("two cables have one group")
		}
		if d := cmp.Diff([2][]int{{65535, 65535, 9000, 9000}, {65535, 65535, 1500, 1500}}, got); d != "" {
			t.Errorf("MTUs (-want +got):\n%s", d)
		}
	})
}

func TestReopenRail(t *testing.T) {
	modes(t, func(t *testing.T, mode lab.Mode) {
		l := build(t, lab.Pair(1, 1), mode)
		a, b := open(t, l.Host("a")), open(t, l.Host("b"))
		cross(t, a[0], b[0], 1)
		got := make(chan byte, 1)
		go func() {
			var in [1]rail.RxFrame
			if _, err := b[0].Recv(in[:]); err == nil {
				got <- in[0].Data[wire.HeaderLen]
			}
			close(got)
		}()
		if err := a[0].Close(); err != nil {
			t.Fatal(err)
		}
		again, err := l.Host("a").OpenRail("rail0", 0)
		if err != nil {
			t.Fatalf("OpenRail: %v", err)
		}
		defer again.Close()
		if _, err := again.Send([]rail.TxFrame{frame(b[0].Info().MAC, 100, 7)}); err != nil {
			t.Fatal(err)
		}
		if fill := <-got; fill != 7 {
			t.Errorf("the other end got a frame of %d, want 7", fill)
		}
		if in := b[0].Stats().RxFrames; in != 2 {
			t.Errorf("the other end counts %d frames, want 2", in)
		}
	})
}

func TestUnplugTakesCarrier(t *testing.T) {
	modes(t, func(t *testing.T, mode lab.Mode) {
		l := build(t, lab.Pair(2, 1), mode)
		a, b := open(t, l.Host("a")), open(t, l.Host("b"))
		carriers := func() [4]bool {
			return [4]bool{a[0].Info().Carrier, b[0].Info().Carrier, a[1].Info().Carrier, b[1].Info().Carrier}
		}
		for _, step := range []struct {
			name string
			do   func(string) error
			what string
			want [4]bool
		}{
			{"unplug", l.Unplug, "cable1", [4]bool{false, false, true, true}},
			{"unplug again", l.Unplug, "cable1", [4]bool{false, false, true, true}},
			{"plug", l.Plug, "cable1", [4]bool{true, true, true, true}},
			{"unplug a rail", l.Unplug, "cable2.0", [4]bool{true, true, false, false}},
			{"plug the rail", l.Plug, "cable2.0", [4]bool{true, true, true, true}},
		} {
			if err := step.do(step.what); err != nil {
				t.Fatalf("%s: %v", step.name, err)
			}
			eventually(t, step.name, func() bool { return carriers() == step.want })
			if got := l.Status().Rails[0].Plugged; got != step.want[0] {
				t.Errorf("%s: status says plugged=%v, want %v", step.name, got, step.want[0])
			}
		}
		cross(t, a[0], b[0], 3)
		cross(t, b[1], a[1], 4)
	})
}

func TestBadFaults(t *testing.T) {
	topo := lab.Pair(1, 2)
	l := build(t, topo, lab.ModeMemory)
	set := func(target, change string) error {
		ch, err := lab.ParseChange(change)
		if err != nil {
			t.Fatal(err)
		}
		return l.Set(target, ch)
	}
	for _, tc := range []struct {
		name string
		err  error
		want string
	}{
		{"unknown cable", l.Unplug("cable9"), `lab: no cable, segment or rail "cable9"; there are ["cable1"], rail n of a cable is NAME.n, a host's port of a segment NAME.HOST`},
		{"rate of one rail", set("cable1.0", "rate=1gbit"), "lab: cable1.0: a rate is shared by a cable's rails; set it for cable1"},
		{"unknown host", set("cable1", "loss=1%,from=z"), "lab: cable1: from=z: no such host at its ends"},
		{"nothing", l.Set("cable1", lab.Change{}), "lab: cable1: nothing to change is named"},
	} {
		if tc.err == nil || tc.err.Error() != tc.want {
			t.Errorf("%s: got %v, want %q", tc.name, tc.err, tc.want)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := l.Unplug("cable1"); err != lab.ErrClosed {
		t.Errorf("Unplug after Close: %v, want %v", err, lab.ErrClosed)
	}
}

func TestMemoryHasNoCommands(t *testing.T) {
	l := build(t, lab.Pair(1, 1), lab.ModeMemory)
	if _, err := l.Host("a").Command(t.Context(), "true"); err == nil {
		t.Error("Command in memory succeeds")
	}
	if _, err := lab.New(t.Context(), lab.Switched(2, 1), lab.ModeMemory); err == nil {
		t.Error("a segment in memory succeeds")
	}
}
