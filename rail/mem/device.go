// SPDX-License-Identifier: Apache-2.0

package mem

import (
	"sync"

	"github.com/tbnet2/tbnet2/rail"
)

// Device is one end of a link.
type Device struct {
	link *Link
	side int

	mu      sync.Mutex // guards what follows
	ready   sync.Cond  // frames have come, or closed
	info    rail.Info
	closed  bool
	ring    []flight // received, not taken yet
	bytes   int      // in ring and held
	held    []*[]byte
	stats   rail.Stats
	changed chan struct{}
}

var _ rail.Device = (*Device)(nil)

func newDevice(l *Link, side int, info rail.Info) *Device {
	d := &Device{link: l, side: side, info: info, changed: make(chan struct{}, 1)}
	d.ready.L = &d.mu
	return d
}

// Info implements rail.Device.
func (d *Device) Info() rail.Info {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.info
}

// Changed implements rail.Device.
func (d *Device) Changed() <-chan struct{} { return d.changed }

// Send implements rail.Device. The link takes everything: a frame over the MTU,
// or without carrier, is lost and counts under TxErrors.
func (d *Device) Send(frames []rail.TxFrame) (n int, err error) {
	now := d.link.now()
	for i := range frames {
		f := &frames[i]
		size := len(f.Head)
		for _, part := range f.Body {
			size += len(part)
		}
		ok, err := d.mayOffer(size)
		if err != nil {
			return i, err
		}
		if ok {
			d.link.lines[d.side].send(now, d.info.MAC, f, size)
		}
	}
	return len(frames), nil
}

// mayOffer counts a frame and reports whether it goes on the wire.
func (d *Device) mayOffer(size int) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return false, rail.ErrClosed
	case size > d.info.MTU || !d.info.Carrier:
		d.stats.TxErrors++
		return false, nil
	}
	d.stats.TxFrames++
	d.stats.TxBytes += uint64(size)
	return true, nil
}

// WaitSend implements rail.Device. Send never asks for it.
func (d *Device) WaitSend() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return rail.ErrClosed
	}
	return nil
}

// arrive takes a frame into the ring.
func (d *Device) arrive(from rail.MAC, buf *[]byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed || !d.info.Carrier:
		recycle(buf)
	case d.bytes+len(*buf) > d.info.Ring:
		d.stats.RxDropped++
		recycle(buf)
	case len(*buf) > d.info.MTU:
		d.stats.RxErrors++
		recycle(buf)
	default:
		d.bytes += len(*buf)
		d.ring = append(d.ring, flight{from: from, buf: buf})
		d.ready.Signal()
	}
}

// Recv implements rail.Device.
func (d *Device) Recv(frames []rail.RxFrame) (n int, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, buf := range d.held {
		d.bytes -= len(*buf)
		recycle(buf)
	}
	d.held = d.held[:0]
	for len(d.ring) == 0 && !d.closed {
		d.ready.Wait()
	}
	if d.closed {
		return 0, rail.ErrClosed
	}
	n = min(len(frames), len(d.ring))
	for i, f := range d.ring[:n] {
		frames[i] = rail.RxFrame{From: f.from, Data: *f.buf}
		d.held = append(d.held, f.buf)
		d.stats.RxFrames++
		d.stats.RxBytes += uint64(len(*f.buf))
	}
	left := copy(d.ring, d.ring[n:])
	clear(d.ring[left:])
	d.ring = d.ring[:left]
	return n, nil
}

// Stats implements rail.Device.
func (d *Device) Stats() rail.Stats {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.stats
}

// Close implements rail.Device.
func (d *Device) Close() error {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return nil
	}
	d.closed = true
	d.ready.Broadcast()
	d.mu.Unlock()
	for _, l := range d.link.lines {
		if l.to == d {
			l.close()
		}
	}
	return nil
}

func (d *Device) setCarrier(up bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.info.Carrier != up {
		d.info.Carrier = up
		d.tell()
	}
}

func (d *Device) setMTU(mtu int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.info.MTU != mtu {
		d.info.MTU = mtu
		d.tell()
	}
}

// tell has the reader of Changed look again.
func (d *Device) tell() {
	select {
	case d.changed <- struct{}{}:
	default:
	}
}
