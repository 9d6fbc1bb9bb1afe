// SPDX-License-Identifier: Apache-2.0

package railtest

import (
	"fmt"
	"testing"
	"time"

	"github.com/tbnet2/tbnet2/rail"
	"github.com/tbnet2/tbnet2/wire"
)

// frameMin is the shortest frame the tests send, in bytes: Ethernet pads none
// of it.
const frameMin = 64

// frame is a DATA frame of size bytes whose content follows from seq.
func frame(to rail.MAC, seq uint32, size int) rail.TxFrame {
	b := make([]byte, size)
	h := wire.Header{Type: wire.TypeData, Index: 0x5500 | Endpoint, RailSeq: seq, Length: uint16(size - wire.HeaderLen)}
	h.Put(b)
	fill(b[wire.HeaderLen:], seq)
	return rail.TxFrame{To: to, Head: b}
}

// fill makes bytes that depend on seq and place.
func fill(b []byte, seq uint32) {
	x := seq*2654435761 + 1
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
}

// sequence reads a frame's number, and checks its content.
func sequence(f rail.RxFrame) (uint32, error) {
	var h wire.Header
	body, err := wire.ParseHeader(f.Data, &h)
	if err != nil {
		return 0, err
	}
	want := make([]byte, len(body))
	fill(want, h.RailSeq)
	for i := range want {
		if body[i] != want[i] {
			return 0, fmt.Errorf("frame %d: byte %d of %d is %#x, want %#x", h.RailSeq, i, len(body), body[i], want[i])
		}
	}
	return h.RailSeq, nil
}

// sendAll sends frames and waits where the device is busy.
func sendAll(d rail.Device, frames []rail.TxFrame) error {
	for len(frames) > 0 {
		n, err := d.Send(frames)
		frames = frames[n:]
		if err == nil {
			continue
		}
		if err != rail.ErrAgain {
			return err
		}
		if err := d.WaitSend(); err != nil {
			return err
		}
	}
	return nil
}

// received is a copy of a frame and its place in the stream.
type received struct {
	from rail.MAC
	data []byte
	err  error
}

// reader copies what arrives at a device into a channel until it is closed.
func reader(d rail.Device) <-chan received {
	out := make(chan received, 4096)
	go func() {
		defer close(out)
		frames := make([]rail.RxFrame, 32)
		for {
			n, err := d.Recv(frames)
			for _, f := range frames[:n] {
				out <- received{from: f.From, data: append([]byte(nil), f.Data...)}
			}
			if err != nil {
				out <- received{err: err}
				return
			}
		}
	}()
	return out
}

// expect takes the next frame and checks that it is the one of that number and
// size.
func expect(t *testing.T, in <-chan received, seq uint32, size int) received {
	t.Helper()
	select {
	case r := <-in:
		if r.err != nil {
			t.Fatalf("Recv: %v", r.err)
		}
		got, err := sequence(rail.RxFrame{Data: r.data})
		if err != nil {
			t.Fatal(err)
		}
		if got != seq || len(r.data) != size {
			t.Fatalf("got frame %d of %d B, want %d of %d B", got, len(r.data), seq, size)
		}
		return r
	case <-time.After(patience):
		t.Fatalf("frame %d did not arrive", seq)
	}
	panic("not reached")
}

// finish closes a device and waits for its reader.
func finish(t *testing.T, d rail.Device, in <-chan received) {
	t.Helper()
	if err := d.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	for {
		select {
		case _, ok := <-in:
			if !ok {
				return
			}
		case <-time.After(patience):
			t.Fatal("Recv did not return after Close")
		}
	}
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, within time.Duration, f func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(within)
	for !f() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s: not within %v", what, within)
		}
	}
}
