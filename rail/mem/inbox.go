// SPDX-License-Identifier: Apache-2.0

package mem

import (
	"sync"
	"time"

	"github.com/tbnet2/tbnet2/rail"
	"github.com/tbnet2/tbnet2/rail/internal/flight"
)

// inbox is what is on its way to a device, and its receive ring. Nobody runs
// while frames fly: whoever looks next settles what has arrived by then, in
// order, so that the ring overflows exactly where it would have.
type inbox struct {
	size int // of the ring, in bytes

	mu      sync.Mutex // guards what follows
	way     flight.Queue
	ring    flight.Queue
	bytes   int // in ring and held
	held    []*flight.Buffer
	pool    flight.Pool
	hold    time.Duration // nothing arrives before this
	mtu     int
	closed  bool
	down    bool          // no carrier
	waiting bool          // Recv waits for wake
	wake    chan struct{} // one value: look again

	frames, octets, dropped, tooLong uint64
}

// get takes buffers of the given sizes from the pool.
func (in *inbox) get(bufs []*flight.Buffer, sizes []int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for i, size := range sizes {
		bufs[i] = in.pool.Get(size)
	}
}

// push takes frames that arrive in this order. now is the link's time. It
// returns how many are lost because the carrier went meanwhile.
func (in *inbox) push(now time.Duration, flights []flight.Flight) (cut int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.down {
		for _, f := range flights {
			in.pool.Put(f.Buf)
		}
		return len(flights)
	}
	in.settle(now)
	first := in.way.Len() == 0
	for _, f := range flights {
		if in.way.Len() == 0 && max(f.At, in.hold) <= now {
			in.arrive(f)
		} else {
			in.way.Push(f)
		}
	}
	if first || in.ring.Len() > 0 {
		in.rouse()
	}
	return 0
}

// rouse has a waiting Recv look again. The caller holds mu.
func (in *inbox) rouse() {
	if in.waiting {
		in.waiting = false
		select {
		case in.wake <- struct{}{}:
		default: // it has not taken the one before
		}
	}
}

// settle moves what has arrived into the ring. The caller holds mu.
func (in *inbox) settle(now time.Duration) {
	for in.way.Len() > 0 && max(in.way.First().At, in.hold) <= now {
		in.arrive(in.way.Pop())
	}
}

// arrive puts one frame into the ring. The caller holds mu.
func (in *inbox) arrive(f flight.Flight) {
	size := len(f.Buf.Data)
	switch {
	case in.closed:
		in.pool.Put(f.Buf)
	case size > in.mtu:
		in.tooLong++
		in.pool.Put(f.Buf)
	case in.bytes+size > in.size:
		in.dropped++
		in.pool.Put(f.Buf)
	default:
		in.bytes += size
		in.ring.Push(f)
	}
}

// release takes back what the reader has held.
func (in *inbox) release() {
	for i, b := range in.held {
		in.bytes -= len(b.Data)
		in.pool.Put(b)
		in.held[i] = nil
	}
	in.held = in.held[:0]
}

// take hands frames of the ring to the reader.
func (in *inbox) take(from rail.MAC, frames []rail.RxFrame) (n int) {
	for n < len(frames) && in.ring.Len() > 0 {
		b := in.ring.Pop().Buf
		frames[n] = rail.RxFrame{From: from, Data: b.Data}
		in.held = append(in.held, b)
		in.frames++
		in.octets += uint64(len(b.Data))
		n++
	}
	return n
}

// recv is rail.Device's Recv.
func (in *inbox) recv(l *Link, alarm *flight.Alarm, from rail.MAC, frames []rail.RxFrame) (int, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.release()
	for {
		if in.closed {
			return 0, rail.ErrClosed
		}
		wait := flight.Forever
		if in.way.Len() > 0 {
			now := l.now()
			in.settle(now)
			if in.way.Len() > 0 {
				wait = max(in.way.First().At, in.hold) - now
			}
		}
		if n := in.take(from, frames); n > 0 || len(frames) == 0 {
			return n, nil
		}
		in.waiting = true
		in.mu.Unlock()
		alarm.Wait(wait, in.wake)
		in.mu.Lock()
		in.waiting = false
	}
}

// stall holds back what has not arrived. now is the link's time.
func (in *inbox) stall(now, until time.Duration) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.settle(now)
	in.hold = max(in.hold, until)
}

// plug follows the carrier. When it goes, all that is on its way is lost; plug
// returns how many frames that is.
func (in *inbox) plug(now time.Duration, up bool) int {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.settle(now)
	in.down = !up
	if up {
		return 0
	}
	n := in.way.Len()
	for in.way.Len() > 0 {
		in.pool.Put(in.way.Pop().Buf)
	}
	return n
}

// close wakes the reader for good.
func (in *inbox) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closed = true
	in.rouse()
}

func (in *inbox) setMTU(now time.Duration, mtu int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.settle(now)
	in.mtu = mtu
}

// count adds the receiving side's totals as of now.
func (in *inbox) count(now time.Duration, s *rail.Stats) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.settle(now)
	s.RxFrames, s.RxBytes, s.RxDropped, s.RxErrors = in.frames, in.octets, in.dropped, in.tooLong
}
