// SPDX-License-Identifier: Apache-2.0

package mem

import (
	"github.com/tbnet2/tbnet2/rail"
	"github.com/tbnet2/tbnet2/rail/internal/flight"
	"github.com/tbnet2/tbnet2/rail/model"
)

// batch is how many frames are sent with one look at the clock.
const batch = 64

// outbox is the memory of one Send; one goroutine uses it at a time.
type outbox struct {
	fates   [batch]model.Fate
	sizes   [2 * batch]int // a frame may go twice
	bufs    [2 * batch]*flight.Buffer
	flights [2 * batch]flight.Flight
	sources [2 * batch]*rail.TxFrame
}

// send passes up to batch frames to the link, and reports how many it took and
// whether the transmit ring is full.
func (o *outbox) send(d *Device, frames []rail.TxFrame, mtu int) (n int, busy bool) {
	l := d.link
	var sent rail.Stats
	l.guard.Lock()
	now := l.now()
	m := l.models[d.side]
	for i := range frames {
		size := sizeOf(&frames[i])
		if size > mtu || !l.reaches(d.side, frames[i].To) {
			sent.TxErrors++
			o.fates[i] = model.Fate{Drop: model.Discarded}
			n++
			continue
		}
		if l.txRing > 0 {
			if waiting := m.Waiting(now); waiting > 0 && waiting+size > l.txRing {
				busy = true
				break
			}
		}
		o.fates[i] = m.Offer(now, size)
		sent.TxFrames++
		sent.TxBytes += uint64(size)
		n++
	}
	l.guard.Unlock()
	d.count(sent)
	to := l.ends[1-d.side]
	if k := o.lay(&to.in, frames[:n]); k > 0 {
		if cut := to.in.push(now, o.flights[:k]); cut > 0 {
			l.guard.Lock()
			m.Unplug(cut)
			l.guard.Unlock()
		}
		clear(o.flights[:k])
		clear(o.sources[:k])
	}
	return n, busy
}

// lay copies what is not lost into buffers of the receiver's.
func (o *outbox) lay(in *inbox, frames []rail.TxFrame) (k int) {
	for i := range frames {
		f := &o.fates[i]
		if f.Drop != model.Kept {
			continue
		}
		for range f.Copies {
			o.sources[k], o.sizes[k] = &frames[i], sizeOf(&frames[i])
			o.flights[k].At = f.At
			k++
		}
	}
	if k == 0 {
		return 0
	}
	in.get(o.bufs[:k], o.sizes[:k])
	for i := range k {
		join(o.bufs[i].Data, o.sources[i])
		o.flights[i].Buf, o.bufs[i] = o.bufs[i], nil
	}
	o.flip(frames)
	return k
}

// flip turns the bits that the model wants turned, in all copies of a frame.
func (o *outbox) flip(frames []rail.TxFrame) {
	k := 0
	for i := range frames {
		f := &o.fates[i]
		if f.Drop != model.Kept {
			continue
		}
		for range f.Copies {
			if f.Flip >= 0 {
				o.flights[k].Buf.Data[f.Flip/8] ^= 1 << (f.Flip % 8)
			}
			k++
		}
	}
}

// sizeOf is a frame's length in bytes.
func sizeOf(f *rail.TxFrame) int {
	size := len(f.Head)
	for _, part := range f.Body {
		size += len(part)
	}
	return size
}

// join lays a frame out in a buffer of its size.
func join(b []byte, f *rail.TxFrame) {
	n := copy(b, f.Head)
	for _, part := range f.Body {
		n += copy(b[n:], part)
	}
}
