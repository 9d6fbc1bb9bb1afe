// SPDX-License-Identifier: Apache-2.0

package packet

import (
	"errors"
	"os"

	"github.com/tbnet2/tbnet2/rail"
)

// Recv implements rail.Device. When the MTU has changed it opens a new ring;
// frames that waited in the old one are dropped and counted.
func (d *Device) Recv(frames []rail.RxFrame) (n int, err error) {
	d.rxMu.Lock()
	defer d.rxMu.Unlock()
	if r := d.rx.Load(); r.mem != nil {
		r.release()
	}
	for {
		if d.closed.Load() {
			d.closeRing(d.rx.Load())
			return 0, rail.ErrClosed
		}
		if d.rebuild.Swap(false) {
			if err := inNetNS(d.ns, d.openRing); err != nil {
				return 0, &rail.OpError{Op: "reopen", Device: d.name, Err: err}
			}
			d.tell()
		}
		r := d.rx.Load()
		n, bad := r.take(frames)
		d.rxErrors.Add(uint64(bad))
		if n > 0 || len(frames) == 0 {
			d.countReceived(frames[:n])
			return n, nil
		}
		if bad > 0 {
			r.release()
			continue
		}
		err := r.raw.Read(d.wait)
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded):
			r.rearm() // before the flags are looked at: who sets one interrupts after it
		default:
			return 0, &rail.OpError{Op: "recv", Device: d.name, Err: err}
		}
	}
}

func (d *Device) countReceived(frames []rail.RxFrame) {
	bytes := 0
	for i := range frames {
		bytes += len(frames[i].Data)
	}
	d.rxFrames.Add(uint64(len(frames)))
	d.rxBytes.Add(uint64(bytes))
}
