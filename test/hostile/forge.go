// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/tbnet2/tbnet2/rail"
	"github.com/tbnet2/tbnet2/rail/mem"
)

// macLen is how many bytes of a frame on the hostile segment tell an address:
// the source's to the victim, the destination's back. So one link in memory is
// a whole segment, on which any address can be forged.
const macLen = 6

// segment is the victim's device on the hostile segment.
type segment struct{ *mem.Device }

// Info implements rail.Device.
func (s segment) Info() rail.Info {
	i := s.Device.Info()
	i.MTU -= macLen
	return i
}

// Recv implements rail.Device; what is too short to tell its source comes from
// nobody.
func (s segment) Recv(frames []rail.RxFrame) (n int, err error) {
	n, err = s.Device.Recv(frames)
	for i := range frames[:n] {
		f := &frames[i]
		if len(f.Data) < macLen {
			f.From = rail.MAC{}
			continue
		}
		f.From, f.Data = rail.MAC(f.Data[:macLen]), f.Data[macLen:]
	}
	return n, err
}

// Send implements rail.Device; everybody on the segment is the attacker.
func (s segment) Send(frames []rail.TxFrame) (n int, err error) {
	out := make([]rail.TxFrame, len(frames))
	for i, f := range frames {
		body := append([][]byte{f.Head}, f.Body...)
		out[i] = rail.TxFrame{To: rail.MAC{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, Head: f.To[:], Body: body}
	}
	return s.Device.Send(out)
}
