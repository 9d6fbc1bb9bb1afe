// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"flag"
	"fmt"
	"testing"

	"github.com/tbnet2/tbnet2/wire"
)

var (
	schedules    = flag.Int("schedules", 300, "random schedules that TestSchedules runs")
	scheduleSeed = flag.Uint64("seed", 0, "the one schedule to run, 0: all")
)

// TestSchedules runs random worlds: rates, skew, jitter, loss, corruption,
// duplicates, stalls, death and return of rails, refusing devices, peer
// restarts. world.check and the nodes hold the invariants.
func TestSchedules(t *testing.T) {
	if *scheduleSeed != 0 {
		runSchedule(t, *scheduleSeed)
		return
	}
	const shards = 8
	for shard := range shards {
		t.Run(fmt.Sprint(shard), func(t *testing.T) {
			t.Parallel()
			for seed := uint64(shard) + 1; seed <= uint64(*schedules); seed += shards {
				if !t.Run(fmt.Sprint(seed), func(t *testing.T) { runSchedule(t, seed) }) {
					t.Fatalf("replay: go test ./transport -run 'TestSchedules$' -seed=%d", seed)
				}
			}
		})
	}
}

// schedule is a random world and what is done to it.
type schedule struct {
	*world
	cfg    Config
	mtus   []int
	clean  bool // nothing is lost, dies or restarts
	budget [2]int
}

func runSchedule(t *testing.T, seed uint64) {
	s := newSchedule(t, seed)
	s.traffic()
	span := Time(50+s.rng.IntN(400)) * Millisecond
	if !s.clean {
		s.faults(span)
	}
	s.run(span)
	s.heal()
	for limit := s.now + 30*Second; !s.idle(); {
		if s.now > limit {
			s.stalled()
		}
		s.run(s.now + 20*Millisecond)
	}
	if s.clean {
		s.checkClean()
	}
	s.check()
}

// newSchedule draws a world.
func newSchedule(t *testing.T, seed uint64) *schedule {
	s := &schedule{}
	pick := newWorldRNG(seed)
	rails := 1 + pick.IntN(4)
	var lines [2][]*line
	for range rails {
		s.mtus = append(s.mtus, []int{1500, 4096, 9000, 65535}[pick.IntN(4)])
	}
	for i := range lines {
		for r := range rails {
			lines[i] = append(lines[i], &line{bytesPerMs: max(16000, s.mtus[r]) << pick.IntN(7), delay: Time(pick.IntN(2000)) * Microsecond,
				jitter: Time(pick.IntN(2)*pick.IntN(300)) * Microsecond})
		}
	}
	s.cfg = Config{Class: Class(pick.IntN(2)), Retransmit: pick.IntN(3) > 0, Window: 128 << 10 << pick.IntN(5),
		SendCRC: true, RequireCRC: true, Slots: 16 << pick.IntN(5)}
	s.cfg.LocalSlots = s.cfg.Slots
	s.clean = pick.IntN(4) == 0
	s.budget = [2]int{20 + pick.IntN(150), pick.IntN(50)}
	s.world = newWorld(t, seed, s.cfg, lines, s.mtus)
	return s
}

// traffic has both nodes send bursts of packets of all sizes.
func (s *schedule) traffic() {
	channels := 1 + s.rng.IntN(wire.Channels)
	for i, n := range s.nodes {
		var step func()
		step = func() {
			for k := 1 + s.rng.IntN(8); k > 0 && s.budget[i] > 0; k-- {
				size := 1 + s.rng.IntN([]int{100, 1500, 9000, wire.PacketMax}[s.rng.IntN(4)])
				if n.submit(uint8(s.rng.IntN(channels)), size, s.rng.IntN(3) == 0) {
					s.budget[i]--
				}
			}
			n.flush()
			n.arm()
			if s.budget[i] > 0 {
				s.at(s.now+Time(s.rng.IntN(4000))*Microsecond, step)
			}
		}
		s.at(0, step)
	}
}

// faults plans what goes wrong before end.
func (s *schedule) faults(end Time) {
	loss, corrupt, dup := s.rng.IntN(3)*s.rng.IntN(500), s.rng.IntN(2)*s.rng.IntN(100), s.rng.IntN(2)*s.rng.IntN(200)
	for i := range s.lines {
		for _, l := range s.lines[i] {
			l.loss, l.corrupt, l.dup = loss, corrupt, dup
		}
	}
	for range s.rng.IntN(8) {
		s.at(Time(s.rng.Int64N(int64(end))), s.fault)
	}
}

// fault does one random thing.
func (s *schedule) fault() {
	index := s.rng.IntN(len(s.mtus))
	l := s.lines[s.rng.IntN(2)][index]
	back := s.now + Time(1+s.rng.IntN(400))*Millisecond
	switch s.rng.IntN(8) {
	case 0: // dies silently, in one direction
		l.discard = true
		s.at(back, func() { l.discard = false })
	case 1:
		l.stallUntil = back
	case 2:
		s.carrier(index, false)
		s.at(back, func() { s.carrier(index, true) })
	case 3:
		n := s.nodes[s.rng.IntN(2)]
		n.assoc.SetUse(n.clock(), RailSet(0).With(n.railID(index)))
		s.at(back, func() { n.assoc.SetUse(n.clock(), ^RailSet(0)) })
	case 4:
		n := s.nodes[s.rng.IntN(2)]
		for i := range s.mtus {
			n.assoc.SetWeight(n.railID(i), s.rng.IntN(4))
		}
	case 5:
		l.bytesPerMs = max(500, l.bytesPerMs/10)
	case 6:
		l.delay += Time(s.rng.IntN(20)) * Millisecond
	case 7:
		if s.rng.IntN(4) == 0 {
			s.restart()
		}
	}
}

// carrier cuts or mends one rail, as both ends see it.
func (s *schedule) carrier(index int, up bool) {
	for i, n := range s.nodes {
		s.lines[i][index].dead = !up
		n.assoc.SetCarrier(n.clock(), n.railID(index), up, &n.in)
		n.after()
	}
}

// restart makes new associations on both ends; frames of the old ones are
// still on their way.
func (s *schedule) restart() { s.connect(s.cfg, s.mtus) }

// heal undoes every fault that would keep the world from finishing.
func (s *schedule) heal() {
	for i := range s.lines {
		for index, l := range s.lines[i] {
			l.loss, l.corrupt, l.dup, l.discard = 0, 0, 0, false
			if l.dead {
				s.carrier(index, true)
			}
		}
		n := s.nodes[i]
		n.assoc.SetUse(n.clock(), ^RailSet(0))
		for line := range s.mtus {
			n.assoc.SetWeight(n.railID(line), 0)
		}
	}
}

// idle reports whether every packet is done with, at both ends.
func (s *schedule) idle() bool {
	for _, n := range s.nodes {
		if n.assoc.recv.stats.ParkedPackets > 0 {
			return false // a SKIP is on its way
		}
	}
	return s.budget[0]+s.budget[1]+s.nodes[0].open+s.nodes[1].open == 0
}

// stalled fails with what is known of a world that does not finish.
func (s *schedule) stalled() {
	for _, n := range s.nodes {
		s.t.Logf("node %d: open %d, send %+v", n.id, n.open, n.assoc.SendStats())
		s.t.Logf("receive %+v", n.assoc.ReceiveStats())
		for id := range n.assoc.Rails().All() {
			st, _ := n.assoc.RailStats(id)
			s.t.Logf("rail %d: %+v", id, st)
		}
	}
	s.t.Fatalf("not finished at %d ms, budgets %v", s.now/Millisecond, s.budget)
}

// checkClean holds a world without faults to losing nothing.
func (s *schedule) checkClean() {
	for _, n := range s.nodes {
		ss, rs := n.assoc.SendStats(), n.assoc.ReceiveStats()
		if ss.Outcomes[GivenUp]+rs.Skipped+rs.ProvenLost+rs.HoleTimeouts+rs.LostFrames+rs.Drops[DropWindow]+rs.Drops[DropContradiction] != 0 {
			s.t.Fatalf("clean, and yet: send %+v, receive %+v", ss, rs)
		}
		want := uint64(0)
		for ch := range n.next {
			want += n.next[ch]
		}
		if got := s.nodes[1-n.id].assoc.ReceiveStats().Packets; n.cfg.Class == Ordered && got != want {
			s.t.Fatalf("clean, and %d packets of %d delivered", got, want)
		}
	}
}
