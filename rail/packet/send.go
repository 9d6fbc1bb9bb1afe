// SPDX-License-Identifier: Apache-2.0

package packet

import (
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tbnet2/tbnet2/rail"
)

// Send implements rail.Device. A frame that the device cannot carry (too long,
// no carrier, device down or gone) counts as sent and lost, under TxErrors.
func (d *Device) Send(frames []rail.TxFrame) (n int, err error) {
	retry := true
	for n < len(frames) {
		if d.closed.Load() {
			return n, rail.ErrClosed
		}
		if !d.carrier.Load() {
			d.txErrors.Add(uint64(len(frames) - n))
			return len(frames), nil
		}
		if d.newMAC.Swap(false) {
			d.tx.setMAC(d.Info().MAC)
		}
		batch := frames[n:min(len(frames), n+sendBatch)]
		sent, errno, err := d.tx.send(batch)
		d.countSent(batch[:sent])
		n += sent
		switch {
		case err != nil && d.closed.Load(): // a file that is closed meanwhile has an error of its own
			return n, rail.ErrClosed
		case err != nil:
			return n, &rail.OpError{Op: "send", Device: d.name, Err: err}
		case errno == 0:
		case errno == unix.ENOBUFS || errno == unix.EAGAIN:
			d.refuse.noBuffers.Store(errno == unix.ENOBUFS)
			d.txBusy.Add(1)
			return n, rail.ErrAgain
		case errno == unix.ENETDOWN && retry:
			retry = false // the socket tells of an earlier down once
		case errno == unix.EMSGSIZE || errno == unix.ENETDOWN || errno == unix.ENXIO || errno == unix.ENODEV:
			d.txErrors.Add(1)
			n++
		default:
			return n, &rail.OpError{Op: "send", Device: d.name, Err: errno}
		}
	}
	return n, nil
}

func (d *Device) countSent(frames []rail.TxFrame) {
	bytes := 0
	for i := range frames {
		bytes += len(frames[i].Head)
		for _, part := range frames[i].Body {
			bytes += len(part)
		}
	}
	d.txFrames.Add(uint64(len(frames)))
	d.txBytes.Add(uint64(bytes))
}

// busyWait is how long WaitSend waits where the kernel does not tell when a
// device has room again (ENOBUFS).
const busyWait = 200 * time.Microsecond

// refusal is why Send was refused, and how WaitSend waits.
type refusal struct {
	noBuffers atomic.Bool // the queue below the socket was full, not the socket
	room      func(fd uintptr) bool
	poll      [1]unix.PollFd
	timer     *time.Timer
}

func (r *refusal) init(d *Device) {
	r.room = func(fd uintptr) bool { // asks, since an edge may have come before the wait was armed
		r.poll[0] = unix.PollFd{Fd: int32(fd), Events: unix.POLLOUT}
		n, err := unix.Poll(r.poll[:], 0)
		return err == nil && n > 0 || d.closed.Load()
	}
}

// WaitSend implements rail.Device.
func (d *Device) WaitSend() error {
	if d.closed.Load() {
		return rail.ErrClosed
	}
	r := &d.refuse
	if r.noBuffers.Load() {
		if r.timer == nil {
			r.timer = time.NewTimer(busyWait)
		} else {
			r.timer.Reset(busyWait)
		}
		select {
		case <-r.timer.C:
			return nil
		case <-d.stop:
			r.timer.Stop()
			return rail.ErrClosed
		}
	}
	err := d.tx.raw.Write(r.room)
	if d.closed.Load() {
		return rail.ErrClosed
	}
	if err != nil {
		return &rail.OpError{Op: "wait", Device: d.name, Err: err}
	}
	return nil
}
