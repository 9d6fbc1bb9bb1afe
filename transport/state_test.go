// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"testing"

	"github.com/tbnet2/tbnet2/wire"
)

// TestStateFits: with 64 rails full of gaps a state keeps within its bound, and
// every rail is told of in turn.
func TestStateFits(t *testing.T) {
	for _, rails := range []int{1, 3, 16, 64} {
		a := New(Config{Memory: new(countingMemory)}, 0)
		for id := range rails {
			if err := a.AddRail(0, RailConfig{ID: RailID(id), PeerID: RailID(rails - 1 - id), MTU: 1500, Ring: 1000 + id}); err != nil {
				t.Fatal(err)
			}
			for seq := range Seq(2*wire.GapsMax + 9) {
				a.recv.rails[id].arrive(2*seq+1, true)
			}
		}
		told := map[uint8]uint32{}
		states := 0
		for ; len(told) < rails && states < 70; states++ {
			var in Inbox
			a.TickReceive(Time(states)*Millisecond, &in)
			if n := len(in.owed.body); n > stateBytes {
				t.Fatalf("%d rails: a state of %d bytes, at most %d", rails, n, stateBytes)
			}
			readState(t, in.owed.body, told)
		}
		for id := range rails {
			if told[uint8(rails-1-id)] != uint32(1000+id) {
				t.Errorf("%d rails: rail %d is told with credit %d", rails, id, told[uint8(rails-1-id)])
			}
		}
		t.Logf("%d rails with %d gaps each are told in %d states", rails, wire.GapsMax, states)
	}
}

// readState notes the credit told for each rail.
func readState(t *testing.T, body []byte, told map[uint8]uint32) {
	t.Helper()
	var st wire.State
	rest, err := wire.ParseState(body, &st)
	for range st.Rails {
		var a wire.RailAck
		if rest, err = wire.ParseRailAck(rest, &a); err != nil {
			break
		}
		told[a.Rail] = a.Credit
	}
	for range st.Channels {
		if _, rest, err = wire.ParseChannelAck(rest); err != nil {
			break
		}
	}
	if err != nil || len(rest) != 0 || st.Channels != wire.Channels {
		t.Fatalf("state does not parse: %v, %d bytes left, %d channels", err, len(rest), st.Channels)
	}
}

// TestUnfitStates: what a peer cannot mean is counted and changes nothing.
func TestUnfitStates(t *testing.T) {
	state := func(rails, channels uint8, blocks ...[]byte) []byte {
		st := wire.State{Stamp: 1, Rails: rails, Channels: channels}
		body := make([]byte, wire.StateLen)
		st.Put(body)
		for _, b := range blocks {
			body = append(body, b...)
		}
		return body
	}
	rail := func(a wire.RailAck) []byte { return wire.AppendRailAck(nil, &a) }
	channel := func(a wire.ChannelAck) []byte { return wire.AppendChannelAck(nil, a) }
	for _, tt := range []struct {
		name string
		body []byte
		bad  uint64
	}{
		{"nothing told", state(0, 0), 0},
		{"a rail that is not there", state(1, 0, rail(wire.RailAck{Rail: 9, Next: 7})), 0},
		{"block missing", state(1, 0), 1},
		{"channel block missing", state(0, 1), 1},
		{"rail beyond", state(1, 0, rail(wire.RailAck{Rail: 64})), 1},
		{"more than was sent", state(1, 0, rail(wire.RailAck{Next: 1})), 1},
		{"far more than was sent", state(1, 0, rail(wire.RailAck{Next: 1<<31 - 1})), 1},
		{"packets never begun", state(0, 1, channel(wire.ChannelAck{Next: 1, Window: 1})), 1},
		{"gap beyond depth", state(1, 0, rail(wire.RailAck{Depth: 1, Count: 1, Gaps: [wire.GapsMax]wire.Gap{{Back: 2, Count: 1}}})), 1},
	} {
		a := New(Config{Memory: new(countingMemory)}, 0)
		if err := a.AddRail(0, RailConfig{MTU: 1500}); err != nil {
			t.Fatal(err)
		}
		before := a.send.rails[0].ledger
		in := Inbox{states: []stateFrame{{0, wire.TypeAck, tt.body}}}
		a.Apply(0, &in)
		if got := a.SendStats().BadStates; got != tt.bad {
			t.Errorf("%s: %d bad states, want %d", tt.name, got, tt.bad)
		}
		if l := a.send.rails[0].ledger; l.una != before.una || l.next != before.next || a.send.rails[0].credit != 0 {
			t.Errorf("%s: it moved the rail", tt.name)
		}
	}
}
