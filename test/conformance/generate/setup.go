// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tbnet2/tbnet2/test/conformance/script"
	"github.com/tbnet2/tbnet2/transport"
)

// config is what the ends have in common, and what the forger needs of it.
type config struct {
	reliable, retransmit, crc, consume bool
	slots, window                      int
}

// words gives the config line of an end.
func (w *world) words(end int) string {
	c := &w.conf
	line := []string{"config", fmt.Sprintf("index=%d", w.index[end]), fmt.Sprintf("peer_index=%d", w.index[1-end]),
		fmt.Sprintf("slots=%d", c.slots), fmt.Sprintf("local_slots=%d", c.slots), fmt.Sprintf("window=%d", c.window)}
	for word, on := range map[string]bool{"class=reliable": c.reliable, "retransmit": c.retransmit, "send_crc": c.crc,
		"require_crc": c.crc, "manual_consume": c.consume && end == here} {
		if on {
			line = append(line, word)
		}
	}
	slices.Sort(line[1:])
	if end == here {
		line = append(line, w.ownWords()...)
	}
	return strings.Join(line, " ")
}

// ownWords are what the recorded end alone may be.
func (w *world) ownWords() []string {
	line := []string{fmt.Sprintf("queue=%d", 1<<w.between(14, 21))}
	if w.chance(6) {
		line = append(line, "unordered")
	}
	if w.chance(20) {
		line = append(line, fmt.Sprintf("memory=%d", 1<<w.between(12, 22)))
	}
	if w.chance(10) {
		line = append(line, "policy="+pick(w, "round_robin", "flow_hash"))
	}
	return line
}

// setUp draws the config and the rails.
func (w *world) setUp() {
	w.conf = config{reliable: w.chance(25), retransmit: w.chance(60), crc: w.chance(30), consume: w.chance(25),
		slots: 1 << w.between(1, 8), window: 1 << w.between(15, 21)}
	w.conf.window += w.rng.IntN(2) * w.rng.IntN(5000)
	setup := [2][]string{{w.words(here)}, {w.words(there)}}
	for range pick(w, 1, 2, 2, 3, 3, 4, 5, 9) {
		l := w.newLink()
		w.links = append(w.links, l)
		setup[here] = append(setup[here], w.railWords(l, here))
		setup[there] = append(setup[there], w.railWords(l, there))
	}
	for end := range w.ends {
		lines := make([]script.Line, len(setup[end]))
		for i, text := range setup[end] {
			lines[i].Text = text
		}
		p, err := script.NewPlayer("generated", lines)
		if err != nil {
			panic(err)
		}
		w.ends[end] = p
	}
	w.ends[there].Mute()
	w.script.Lines = setup[here]
}

// newLink draws a link whose ids are not in use at either end.
func (w *world) newLink() *link {
	l := &link{delay: transport.Time(w.between(1, 2000)) * transport.Microsecond, slack: w.rng.IntN(2) * w.rng.IntN(3000),
		loss: pick(w, 0, 0, 1, 20, 200), mtu: pick(w, 576, 1000, 1500, 1500, 4096, 9000, 16384, 65535)}
	for end := range l.id {
		for {
			l.id[end] = transport.RailID(pick(w, w.rng.IntN(4), w.rng.IntN(64)))
			if !slices.ContainsFunc(w.links, func(o *link) bool { return o.id[end] == l.id[end] }) {
				break
			}
		}
	}
	return l
}

// railWords gives the line of a rail at an end.
func (w *world) railWords(l *link, end int) string {
	line := fmt.Sprintf("rail %d peer=%d mtu=%d ring=%d", l.id[end], l.id[1-end], l.mtu, pick(w, 4096, 65536, 1<<18, 1<<22))
	if w.chance(40) {
		line += fmt.Sprintf(" rate=%d", pick(w, 1, 128, 13107, 131072, 1310720, 5242880))
	}
	if end == here && w.chance(15) {
		line += fmt.Sprintf(" weight=%d", w.between(1, 5))
	}
	if w.conf.crc && w.chance(10) {
		line += " no_crc"
	}
	if w.conf.crc && w.chance(20) {
		line += " trust_link"
	}
	return line
}
