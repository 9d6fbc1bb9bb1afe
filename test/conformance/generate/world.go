// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/tbnet2/tbnet2/test/conformance/script"
	"github.com/tbnet2/tbnet2/transport"
)

// linesMost bounds a script.
const linesMost = 160

// Script is a generated script and what the Go core does at each step.
type Script struct {
	Lines []string
	Got   [][]string
	Left  error // what the Go core has left over at the end; should be nil
}

// ends of the association, as indices.
const (
	here  = 0 // recorded in the script
	there = 1 // its peer
)

// world is both ends and the links between them.
type world struct {
	rng    *rand.Rand
	now    transport.Time
	ends   [2]*script.Player
	index  [2]uint32 // that frames to an end carry
	links  []*link
	flying []flight
	serial int
	script Script
	conf   config
	packet [2][16]uint32 // about the newest packet that an end has sent, by channel
}

// link is a rail between the ends.
type link struct {
	id    [2]transport.RailID
	delay transport.Time
	slack int // of delay, microseconds
	loss  int // per 1000
	mtu   int
	dead  bool
	gone  bool      // removed here
	seq   [2]uint32 // of the newest frame an end has sent
	stamp [2]uint32 // of its newest state
}

// flight is a frame on its way.
type flight struct {
	at     transport.Time
	serial int
	to     int
	link   *link
	data   []byte
}

// New makes the script of a seed.
func New(seed uint64) Script {
	w := &world{rng: rand.New(rand.NewPCG(seed, 3)), index: [2]uint32{257, 513}}
	w.setUp()
	if w.chance(85) {
		w.bringUp()
	}
	for len(w.script.Lines) < linesMost && w.more() {
		w.turn()
	}
	w.script.Left = w.ends[here].Finish()
	return w.script
}

// bringUp lets the rails find each other, undisturbed by anything but the
// links.
func (w *world) bringUp() {
	w.step(there, "run")
	w.step(here, "run")
	for range 8 * len(w.links) {
		if len(w.flying) == 0 {
			w.now += 5 * transport.Millisecond
			w.step(there, "run")
			w.step(here, "run")
		}
		w.deliver(4)
	}
}

// more ends a script now and then, so that there are short ones.
func (w *world) more() bool { return len(w.script.Got) < 4 || w.rng.IntN(60) > 0 }

// chance reports true n times of 100.
func (w *world) chance(n int) bool { return w.rng.IntN(100) < n }

// pick gives one of the values.
func pick[T any](w *world, values ...T) T { return values[w.rng.IntN(len(values))] }

// between gives a number from low to high.
func (w *world) between(low, high int) int { return low + w.rng.IntN(high-low+1) }

// step has an end do actions at now, and sends what comes out on its way.
func (w *world) step(end int, actions ...string) {
	lines := make([]script.Line, len(actions))
	for i, a := range actions {
		lines[i].Text = a
		if end == here {
			prefix := "and "
			if i == 0 {
				prefix = "at " + script.TimeText(w.now) + " "
			}
			w.script.Lines = append(w.script.Lines, prefix+a)
		}
	}
	got, err := w.ends[end].Step(w.now, lines)
	if err != nil {
		panic(fmt.Sprintf("generated: %v: %v", err, actions))
	}
	if end == here {
		w.script.Got = append(w.script.Got, got)
	}
	w.sendAll(end)
}

// sendAll sends what has come out of an end on its way.
func (w *world) sendAll(end int) {
	for _, f := range w.ends[end].Sent() {
		w.send(end, f)
	}
}

// send puts a frame on its link.
func (w *world) send(from int, f script.Sent) {
	i := slices.IndexFunc(w.links, func(l *link) bool { return l.id[from] == f.Rail && !(from == here && l.gone) })
	if i < 0 {
		return
	}
	l := w.links[i]
	w.note(from, l, f.Data)
	if l.dead || l.gone || w.rng.IntN(1000) < l.loss {
		return
	}
	at := w.now + l.delay
	if l.slack > 0 && w.chance(10) { // overtakes, or is overtaken
		at += transport.Time(w.rng.IntN(l.slack)) * transport.Microsecond
	}
	w.serial++
	w.flying = append(w.flying, flight{at, w.serial, 1 - from, l, f.Data})
}

// note remembers what a forger needs to know of a frame.
func (w *world) note(from int, l *link, frame []byte) {
	l.seq[from] = binary.LittleEndian.Uint32(frame[8:])
	switch frame[0] & 0x0f {
	case 4, 5, 6: // PING, PONG, ACK
		l.stamp[from] = binary.LittleEndian.Uint32(frame[16:])
	case 10: // DATA
		w.packet[from][frame[22]&15] = binary.LittleEndian.Uint32(frame[16:])
	}
}

// turn lets the world go on to its next event, or does something to it.
func (w *world) turn() {
	switch n := w.rng.IntN(100); {
	case n < 52:
		w.arrive()
	case n < 72:
		w.application(here)
	case n < 82:
		w.application(there)
	case n < 88:
		w.operate()
	case n < 94:
		w.forge()
	default:
		w.wait()
	}
}

// arrive brings the frames that come next to an end, as one batch.
func (w *world) arrive() {
	if len(w.flying) == 0 {
		w.wait()
		return
	}
	w.deliver(12)
}

// deliver brings the next frame, and with it others to the same end, at most
// so many.
func (w *world) deliver(most int) {
	if len(w.flying) == 0 {
		return
	}
	slices.SortFunc(w.flying, func(a, b flight) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.serial, b.serial)) })
	first := w.flying[0]
	w.advance(first.at)
	batch := 1 + w.rng.IntN(most)
	end := w.now + transport.Time(w.rng.IntN(60))*transport.Microsecond
	var actions []string
	var frames []script.Sent
	var left []flight
	for _, f := range w.flying {
		if f.to != first.to || f.at > end || len(actions)+len(frames) >= batch {
			left = append(left, f)
			continue
		}
		if f.to == here && f.link.gone {
			continue
		}
		if f.to == there {
			frames = append(frames, script.Sent{Rail: f.link.id[there], Data: f.data})
			continue
		}
		actions = append(actions, w.receive(f))
		if w.chance(3) { // it comes twice
			left = append(left, flight{w.now + transport.Millisecond, f.serial, f.to, f.link, f.data})
		}
	}
	w.flying = left
	if len(actions) > 0 {
		w.step(here, actions...)
	}
	if len(frames) > 0 {
		w.ends[there].Deliver(w.now, frames)
		w.sendAll(there)
	}
}

// receive is the action for a frame that comes to the recorded end, now and
// then damaged.
func (w *world) receive(f flight) string {
	text := fmt.Sprintf("receive %d %s", f.link.id[here], script.FrameText(f.data, w.index[here]))
	if w.chance(3) {
		text += w.damage(len(f.data))
	}
	return text
}

// advance moves the time on; most of the time both ends tick meanwhile.
func (w *world) advance(to transport.Time) {
	if to <= w.now {
		return
	}
	w.now = to
	if !w.chance(15) {
		w.step(there, "run")
	}
	if !w.chance(25) {
		w.step(here, "run")
	}
}

// wait lets time pass, seldom much.
func (w *world) wait() {
	span := transport.Time(w.between(1, 3000)) * transport.Microsecond
	switch n := w.rng.IntN(1000); {
	case n < 10:
		span = transport.Time(w.between(1, 70)) * transport.Second
	case n < 100:
		span = transport.Time(w.between(100, 2500)) * transport.Millisecond
	case n < 300:
		span = transport.Time(w.between(1, 120)) * transport.Millisecond
	}
	if len(w.flying) > 0 && w.chance(90) {
		earliest := slices.MinFunc(w.flying, func(a, b flight) int { return cmp.Compare(a.at, b.at) })
		span = min(span, max(0, earliest.at-w.now))
	}
	w.advance(w.now + span + transport.Time(w.rng.IntN(2)*w.rng.IntN(1024)))
}
