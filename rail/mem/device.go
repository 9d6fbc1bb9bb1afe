// SPDX-License-Identifier: Apache-2.0

package mem

import (
	"sync"

	"github.com/tbnet2/tbnet2/rail"
	"github.com/tbnet2/tbnet2/rail/internal/flight"
)

// Device is one end of a link.
type Device struct {
	link    *Link
	side    int
	in      inbox
	out     outbox
	changed chan struct{}

	recvAlarm flight.Alarm  // of Recv
	sendAlarm flight.Alarm  // of WaitSend
	room      chan struct{} // one value: WaitSend looks again

	// Held by Recv and WaitSend as long as they run: Close waits for them
	// before it frees their alarms.
	recvMu, waitMu sync.Mutex

	mu     sync.Mutex // guards what follows
	info   rail.Info
	closed bool
	sent   rail.Stats // the sender's half
}

var _ rail.Device = (*Device)(nil)

func newDevice(l *Link, side int, info rail.Info) *Device {
	d := &Device{link: l, side: side, info: info, changed: make(chan struct{}, 1), room: make(chan struct{}, 1)}
	d.in.size, d.in.mtu, d.in.wake = info.Ring, info.MTU, make(chan struct{}, 1)
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

// Send implements rail.Device. A frame over the MTU, or without carrier, is
// lost and counts under TxErrors, as does one that is not addressed to the
// other end or to a group.
func (d *Device) Send(frames []rail.TxFrame) (n int, err error) {
	for n < len(frames) {
		mtu, err := d.sendable()
		if err != nil {
			return n, err
		}
		k, busy := d.out.send(d, frames[n:min(len(frames), n+batch)], mtu)
		n += k
		if busy {
			d.count(rail.Stats{TxBusy: 1})
			return n, rail.ErrAgain
		}
	}
	return n, nil
}

// sendable gives the longest frame that may go now; -1 without carrier.
func (d *Device) sendable() (mtu int, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return 0, rail.ErrClosed
	case !d.info.Carrier:
		return -1, nil
	}
	return d.info.MTU, nil
}

// count adds what was sent.
func (d *Device) count(s rail.Stats) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sent.TxFrames += s.TxFrames
	d.sent.TxBytes += s.TxBytes
	d.sent.TxBusy += s.TxBusy
	d.sent.TxErrors += s.TxErrors
}

// WaitSend implements rail.Device. It waits for half of the transmit ring.
func (d *Device) WaitSend() error {
	d.waitMu.Lock()
	defer d.waitMu.Unlock()
	for {
		if _, err := d.sendable(); err != nil {
			return err
		}
		wait := d.link.untilRoom(d.side)
		if wait <= 0 {
			return nil
		}
		d.sendAlarm.Wait(wait, d.room)
	}
}

// Recv implements rail.Device.
func (d *Device) Recv(frames []rail.RxFrame) (n int, err error) {
	d.recvMu.Lock()
	defer d.recvMu.Unlock()
	return d.in.recv(d.link, &d.recvAlarm, d.link.macs[1-d.side], frames)
}

// Stats implements rail.Device.
func (d *Device) Stats() rail.Stats {
	d.mu.Lock()
	s := d.sent
	d.mu.Unlock()
	d.in.count(d.link.now(), &s)
	return s
}

// Close implements rail.Device.
func (d *Device) Close() error {
	d.mu.Lock()
	before := d.closed
	d.closed = true
	d.mu.Unlock()
	if before {
		return nil
	}
	d.in.close()
	poke(d.room)
	d.recvMu.Lock()
	defer d.recvMu.Unlock()
	d.recvAlarm.Close()
	d.waitMu.Lock()
	defer d.waitMu.Unlock()
	d.sendAlarm.Close()
	return nil
}

func (d *Device) setCarrier(up bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.info.Carrier != up {
		d.info.Carrier = up
		poke(d.changed)
	}
}

func (d *Device) setMTU(mtu int) {
	d.in.setMTU(d.link.now(), mtu)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.info.MTU != mtu {
		d.info.MTU = mtu
		poke(d.changed)
	}
}

// poke leaves a value in a channel of one.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
