// SPDX-License-Identifier: Apache-2.0

package main

import (
	"sync"

	"github.com/tbnet2/tbnet2/rail"
	"github.com/tbnet2/tbnet2/rail/mem"
)

// tapeFrames is how many frames a tape holds; the honest rails fill half of it.
const tapeFrames = 4096

// tape holds frames that really went over rails, to be played again.
type tape struct {
	honest rail.MAC // whom the first were from

	mu     sync.Mutex // guards what follows
	frames [][]byte
}

func (t *tape) record(frame []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.frames) < tapeFrames {
		t.frames = append(t.frames, append([]byte(nil), frame...))
	}
}

func (t *tape) pick(g grammar) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.frames) == 0 {
		return nil
	}
	return t.frames[g.IntN(len(t.frames))]
}

// recorder is an honest device that is listened to until the tape is full.
type recorder struct {
	*mem.Device
	tape *tape
}

// Recv implements rail.Device.
func (r recorder) Recv(frames []rail.RxFrame) (n int, err error) {
	n, err = r.Device.Recv(frames)
	for _, f := range frames[:n] {
		if !r.tape.full() {
			r.tape.record(f.Data)
		}
	}
	return n, err
}

func (t *tape) full() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.frames) >= tapeFrames/2
}
