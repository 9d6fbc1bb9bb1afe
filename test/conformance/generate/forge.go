// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"fmt"
	"strings"

	"github.com/tbnet2/tbnet2/wire"
)

// damage gives the words that spoil a frame of n bytes.
func (w *world) damage(n int) string {
	switch w.rng.IntN(6) {
	case 0:
		return fmt.Sprintf(" flip=%d", w.rng.IntN(n))
	case 1:
		return fmt.Sprintf(" version=%d", w.rng.IntN(16))
	case 2:
		return fmt.Sprintf(" type=%d", w.rng.IntN(16))
	case 3:
		return fmt.Sprintf(" cut=%d", w.rng.IntN(n))
	case 4:
		return fmt.Sprintf(" pad=%d", w.rng.IntN(64))
	}
	return fmt.Sprintf(" index=%d", pick(w, 0, 1, 256, 258))
}

// edge draws a number where things change, or near a given one.
func (w *world) edge(near uint32) uint32 {
	switch w.rng.IntN(8) {
	case 0:
		return pick(w, uint32(0), 1, 63, 64, 65, 1<<15, 65535, 65536, 65600, 65601, 1<<31-1, 1<<31, 1<<31+1, 1<<32-2, 1<<32-1)
	case 1:
		return w.rng.Uint32()
	case 2:
		return near + uint32(w.rng.IntN(1<<17)) - 1<<16
	}
	return near + uint32(w.rng.IntN(9)) - 3
}

// forge has a hostile peer send frames among the honest ones.
func (w *world) forge() {
	l := w.link()
	if l == nil {
		return
	}
	var actions []string
	for range pick(w, 1, 1, 2, 6) {
		actions = append(actions, w.forged(l))
	}
	w.step(here, actions...)
}

func (w *world) forged(l *link) string {
	seq := l.seq[there] + uint32(w.rng.IntN(4))
	if w.chance(15) {
		seq = w.edge(seq)
	}
	body, size := w.forgedBody(l)
	text := fmt.Sprintf("receive %d %s seq=%d %s", l.id[here], body[0], seq, strings.Join(body[1:], " "))
	for _, flag := range []string{"resent", "ack_now", "crc"} {
		if w.chance(30) {
			text += " " + flag
		}
	}
	if w.conf.crc && !strings.Contains(text, " crc") && w.chance(80) {
		text += " crc"
	}
	if w.chance(10) {
		text += w.damage(size)
	}
	l.seq[there] = seq
	return text
}

// forgedBody gives the words of a frame and a number of bytes that it has at
// least.
func (w *world) forgedBody(l *link) (words []string, size int) {
	switch w.rng.IntN(8) {
	case 0, 1, 2:
		return w.forgedData(), wire.HeaderLen + wire.DataLen
	case 3:
		return append([]string{pick(w, "position", "skip")}, w.marks()...), wire.HeaderLen
	case 4:
		return []string{"railset", fmt.Sprintf("generation=%d rails=%s", w.edge(uint32(w.rng.IntN(4))), w.peerRails())}, wire.HeaderLen
	case 5:
		return []string{"hello", "nonce=7"}, wire.HeaderLen
	}
	return w.forgedState(l), wire.HeaderLen + wire.StateLen
}

func (w *world) forgedData() []string {
	ch := w.channel()
	packet := w.packet[there][ch] + uint32(w.rng.IntN(12)) - 2
	if w.chance(15) {
		packet = w.edge(packet)
	}
	if w.chance(4) {
		ch = w.between(16, 255)
	}
	length := pick(w, 64, 128, 640, 1408, w.rng.IntN(1500))
	offset := 64 * pick(w, 0, 0, 1, 2, 10, w.rng.IntN(1025))
	total := offset + length + 64*pick(w, 0, 0, 1, 3, w.rng.IntN(900))
	if w.chance(5) {
		total = int(w.edge(uint32(total)))
	}
	words := []string{"data", fmt.Sprintf("ch=%d packet=%d offset=%d length=%d total=%d stamp=%d", ch, packet, offset, length, total,
		w.edge(uint32(w.now>>10)))}
	if w.chance(15) {
		words = append(words, "offload="+w.offload(total&0xffff))
	}
	return words
}

func (w *world) marks() (words []string) {
	for range w.between(0, 3) {
		ch := pick(w, w.channel(), w.rng.IntN(20))
		words = append(words, fmt.Sprintf("[channel %d packet=%d]", ch, w.edge(w.packet[there][ch&15])))
	}
	return words
}

// peerRails draws a set of the peer's ids.
func (w *world) peerRails() string {
	var ids []string
	for _, l := range w.links {
		if w.chance(70) {
			ids = append(ids, fmt.Sprint(l.id[there]))
		}
	}
	if len(ids) == 0 {
		return "-"
	}
	return strings.Join(ids, ",")
}

// ownRails draws a set of the recorded end's ids.
func (w *world) ownRails() string {
	if w.chance(10) {
		return "-"
	}
	return w.someRails()
}

func (w *world) forgedState(l *link) []string {
	echo := l.stamp[here]
	if w.chance(20) {
		echo = w.edge(echo)
	}
	words := []string{pick(w, "ping", "pong", "ack"), fmt.Sprintf("stamp=%d echo=%d heard=%s generation=%d",
		w.edge(uint32(w.now>>10)), echo, w.ownRails(), w.edge(uint32(w.rng.IntN(4))))}
	for range w.rng.IntN(3) {
		words = append(words, w.forgedRail(w.links[w.rng.IntN(len(w.links))]))
	}
	for range w.rng.IntN(3) {
		ch := w.channel()
		words = append(words, fmt.Sprintf("[channel %d next=%d window=%d]", ch, w.edge(w.packet[here][ch]), w.edge(1<<17)))
	}
	if w.chance(10) {
		words = append(words, fmt.Sprintf("size=%d", w.rng.IntN(2000)))
	}
	return words
}

func (w *world) forgedRail(l *link) string {
	next := l.seq[here] + uint32(w.rng.IntN(3))
	if w.chance(20) {
		next = w.edge(next)
	}
	depth := pick(w, 0, 1, 5, 100, 65535, int(next&0xffff))
	text := fmt.Sprintf("[rail %d next=%d depth=%d credit=%d delay=%d", pick(w, int(l.id[here]), w.rng.IntN(70)), next, depth,
		w.edge(1<<16), w.edge(300000))
	var gaps []string
	for back := min(depth, w.between(0, 30)); back > 0 && len(gaps) < w.rng.IntN(4); back = w.rng.IntN(back) {
		gaps = append(gaps, fmt.Sprintf("%dx%d", back, w.between(1, 3)))
	}
	if len(gaps) > 0 {
		text += " gaps=" + strings.Join(gaps, ",")
	}
	return text + "]"
}
