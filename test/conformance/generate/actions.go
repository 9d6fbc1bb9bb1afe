// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tbnet2/tbnet2/wire"
)

// application has an end's application send, or its consumer take.
func (w *world) application(end int) {
	if end == here && w.conf.consume && w.chance(40) {
		w.step(end, fmt.Sprintf("consume ch=%d bytes=%d", w.channel(), pick(w, 1, 1500, 9000, 65600, 1<<20)))
		return
	}
	w.step(end, w.sendWords(end))
}

// channel draws a channel, mostly one of the first.
func (w *world) channel() int { return pick(w, 0, 0, 0, 1, 1, 2, w.rng.IntN(16)) }

func (w *world) sendWords(end int) string {
	length := pick(w, 1, 60, 1400, 1461, 1500, 4000, 9000, 20000, 65600, w.between(1, 3000), w.between(1, 65600))
	text := fmt.Sprintf("send ch=%d length=%d count=%d", w.channel(), length, pick(w, 1, 1, 2, 3, 5, 12))
	if end == here && w.chance(2) {
		return fmt.Sprintf("send ch=%d length=%d", pick(w, 0, 16), pick(w, 0, 65601))
	}
	if w.chance(25) {
		text += " offload=" + w.offload(length)
	}
	return text
}

// offload draws a descriptor for a packet, mostly one that fits.
func (w *world) offload(length int) string {
	o := wire.Offload{Flags: wire.OffloadNeedsCsum, GSOType: pick(w, byte(0), 1, 4, 0x81), HdrLen: uint16(min(length, 54)),
		CsumStart: uint16(min(max(0, length-18), 34)), CsumOffset: 16}
	if length < 18 {
		o.CsumOffset, o.Flags, o.GSOType = 0, pick(w, byte(0), 2), 0
	}
	if o.GSOType != 0 {
		o.GSOSize = 1448
	}
	if w.chance(6) {
		o.Flags, o.GSOType, o.GSOSize = byte(w.rng.IntN(8)), byte(w.rng.IntN(256)), uint16(w.rng.IntN(3))
	}
	return fmt.Sprintf("%d/%d/%d/%d/%d/%d", o.Flags, o.GSOType, o.HdrLen, o.GSOSize, o.CsumStart, o.CsumOffset)
}

// link draws a link that is there at the recorded end; nil where none is.
func (w *world) link() *link {
	for range 10 {
		if l := w.links[w.rng.IntN(len(w.links))]; !l.gone {
			return l
		}
	}
	return nil
}

// operate changes something about the rails.
func (w *world) operate() {
	l := w.link()
	if l == nil {
		return
	}
	id := l.id[here]
	switch w.rng.IntN(12) {
	case 0:
		l.dead = !l.dead // silently
	case 1, 2:
		up := w.chance(60)
		l.dead = !up
		w.step(here, fmt.Sprintf("carrier %d %s", id, word(up, "up", "down")))
	case 3:
		w.step(here, fmt.Sprintf("enable %d %s", id, word(w.chance(60), "on", "off")))
	case 4:
		w.step(here, "use "+w.someRails())
	case 5:
		w.step(here, fmt.Sprintf("weight %d %d", id, w.rng.IntN(4)))
	case 6:
		l.mtu = pick(w, 576, 1500, 1500, 9000, 65535)
		w.step(here, fmt.Sprintf("mtu %d %d", id, l.mtu))
	case 7:
		w.addOrRemove(l)
	case 8, 9:
		w.step(here, fmt.Sprintf("room %d %d", id, w.rng.IntN(4)))
	case 10:
		w.step(here, fmt.Sprintf("writable %d", id))
	default:
		w.step(here, "tick")
	}
}

func word(on bool, yes, no string) string {
	if on {
		return yes
	}
	return no
}

// someRails draws a set, seldom an empty one.
func (w *world) someRails() string {
	var ids []string
	for _, l := range w.links {
		if w.chance(65) {
			ids = append(ids, strconv.Itoa(int(l.id[here])))
		}
	}
	if len(ids) == 0 {
		return "-"
	}
	return strings.Join(ids, ",")
}

// addOrRemove takes a link away at the recorded end, or brings one back.
func (w *world) addOrRemove(l *link) {
	for _, o := range w.links {
		if o.gone {
			o.gone = false
			w.step(here, "add "+strings.TrimPrefix(w.railWords(o, here), "rail "))
			return
		}
	}
	l.gone = true
	w.step(here, fmt.Sprintf("remove %d", l.id[here]))
}
