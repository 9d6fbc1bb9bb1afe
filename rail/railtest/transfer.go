// SPDX-License-Identifier: Apache-2.0

package railtest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/tbnet2/tbnet2/rail"
	"github.com/tbnet2/tbnet2/wire"
)

// content: frames of every size up to the MTU arrive unchanged, alone.
func content(t *testing.T, p Pair) {
	in := reader(p.B)
	to, most := p.B.Info().MAC, p.B.Info().MTU
	sizes := []int{frameMin, frameMin + 1, 127, 128, 1499, 1500}
	for size := 2048; size < most; size *= 2 {
		sizes = append(sizes, size-1, size)
	}
	for i, size := range append(sizes, most-1, most) {
		if err := sendAll(p.A, []rail.TxFrame{frame(to, uint32(i), size)}); err != nil {
			t.Fatal(err)
		}
		if got := expect(t, in, uint32(i), size); got.from != p.A.Info().MAC {
			t.Errorf("from %v, want %v", got.from, p.A.Info().MAC)
		}
	}
	finish(t, p.B, in)
}

// Order is the part of the contract that says first in, first out: batches of
// mixed sizes.
func Order(t *testing.T, p Pair) {
	in := reader(p.B)
	to := p.B.Info().MAC
	size := func(seq uint32) int { return frameMin + int(seq*977)%(1500-frameMin+1) }
	const rounds, batch = 40, 100
	seq := uint32(0)
	for range rounds {
		frames := make([]rail.TxFrame, batch)
		for i := range frames {
			frames[i] = frame(to, seq+uint32(i), size(seq+uint32(i)))
		}
		if err := sendAll(p.A, frames); err != nil {
			t.Fatal(err)
		}
		for range frames {
			expect(t, in, seq, size(seq))
			seq++
		}
	}
	finish(t, p.B, in)
}

// parts: a frame is the concatenation of head and body, however cut.
func parts(t *testing.T, p Pair) {
	in := reader(p.B)
	whole := frame(p.B.Info().MAC, 9, 1500)
	for name, cuts := range map[string][]int{
		"head only":         {},
		"one part":          {32},
		"empty parts":       {32, 32, 32, 1500},
		"many":              {16, 17, 18, 100, 101, 1000, 1499},
		"no head":           {0},
		"one byte and rest": {16, 17},
	} {
		f := rail.TxFrame{To: whole.To, Head: whole.Head}
		for i, cut := range cuts {
			if i == 0 {
				f.Head = whole.Head[:cut]
			}
			end := len(whole.Head)
			if i+1 < len(cuts) {
				end = cuts[i+1]
			}
			f.Body = append(f.Body, whole.Head[cut:end])
		}
		if err := sendAll(p.A, []rail.TxFrame{f}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		expect(t, in, 9, 1500)
	}
	finish(t, p.B, in)
}

// addresses: frames to the device and to the HELLO group arrive, frames to
// another device do not.
func addresses(t *testing.T, p Pair) {
	in := reader(p.B)
	own := p.B.Info().MAC
	other := own
	other[5] ^= 0x5a
	frames := []rail.TxFrame{
		frame(own, 1, 100), frame(other, 2, 100), frame(wire.HelloMAC, 3, 100),
		frame(other, 4, 100), frame(own, 5, 100),
	}
	if err := sendAll(p.A, frames); err != nil {
		t.Fatal(err)
	}
	for _, seq := range []uint32{1, 3, 5} {
		expect(t, in, seq, 100)
	}
	finish(t, p.B, in)
}

// bothWays: Send and Recv run at the same time in both directions.
func bothWays(t *testing.T, p Pair) {
	var work sync.WaitGroup
	quit := make(chan struct{})
	fail := sync.OnceFunc(func() { close(quit) })
	ends := [2]rail.Device{p.A, p.B}
	in := [2]<-chan received{reader(p.A), reader(p.B)}
	for i, d := range ends {
		// What one has received allows the other to send on: nothing is lost
		// to a full ring.
		credit := make(chan struct{}, 64)
		to := ends[1-i].Info().MAC
		work.Go(func() {
			if err := sendOn(d, to, credit, quit); err != nil {
				t.Error(err)
				fail()
			}
		})
		work.Go(func() {
			if err := countOn(in[1-i], credit); err != nil {
				t.Error(err)
				fail()
			}
		})
	}
	work.Wait()
	for i, d := range ends {
		finish(t, d, in[i])
	}
}

// bothWaysFrames is how many frames go each way.
const bothWaysFrames = 2000

// sendOn sends numbered frames as credit allows.
func sendOn(d rail.Device, to rail.MAC, credit chan<- struct{}, quit <-chan struct{}) error {
	for seq := range uint32(bothWaysFrames) {
		select {
		case credit <- struct{}{}:
		case <-quit:
			return nil
		}
		if err := sendAll(d, []rail.TxFrame{frame(to, seq, 200)}); err != nil {
			return err
		}
	}
	return nil
}

// countOn checks the numbers of what arrives.
func countOn(in <-chan received, credit <-chan struct{}) error {
	for seq := range uint32(bothWaysFrames) {
		select {
		case r := <-in:
			if r.err != nil {
				return r.err
			}
			if got, err := sequence(rail.RxFrame{Data: r.data}); err != nil || got != seq {
				return fmt.Errorf("got frame %d, want %d: %w", got, seq, err)
			}
			<-credit
		case <-time.After(patience):
			return fmt.Errorf("frame %d did not arrive", seq)
		}
	}
	return nil
}

// heldFrames: what Recv gave stays as it is until the next Recv, whatever else
// arrives.
func heldFrames(t *testing.T, p Pair) {
	to := p.B.Info().MAC
	batch := func(first uint32) (frames []rail.TxFrame) {
		for i := range uint32(50) {
			frames = append(frames, frame(to, first+i, 1000))
		}
		return frames
	}
	if err := sendAll(p.A, batch(0)); err != nil {
		t.Fatal(err)
	}
	frames := make([]rail.RxFrame, 20)
	for seq := uint32(0); seq < 50; {
		n, err := p.B.Recv(frames)
		if err != nil {
			t.Fatal(err)
		}
		if err := sendAll(p.A, batch(1000)); err != nil {
			t.Fatal(err)
		}
		for _, f := range frames[:n] {
			if seq == 50 {
				return // the frames sent meanwhile begin
			}
			if got, err := sequence(f); err != nil || got != seq {
				t.Fatalf("frame %d: got %d, %v", seq, got, err)
			}
			seq++
		}
	}
}

// smallBatches: what does not fit into one Recv is there for the next.
func smallBatches(t *testing.T, p Pair) {
	var out []rail.TxFrame
	for seq := range uint32(10) {
		out = append(out, frame(p.B.Info().MAC, seq, 300))
	}
	if err := sendAll(p.A, out); err != nil {
		t.Fatal(err)
	}
	one := make([]rail.RxFrame, 1)
	for seq := range uint32(10) {
		n, err := p.B.Recv(one)
		if n != 1 || err != nil {
			t.Fatalf("Recv: %d, %v", n, err)
		}
		if got, err := sequence(one[0]); got != seq || err != nil {
			t.Fatalf("got %d, want %d: %v", got, seq, err)
		}
	}
}

// tooLong: a frame over the MTU is lost and counted; those beside it go.
func tooLong(t *testing.T, p Pair) {
	in := reader(p.B)
	to, most := p.B.Info().MAC, p.A.Info().MTU
	long := frame(to, 2, most)
	long.Body = [][]byte{make([]byte, 64)}
	if err := sendAll(p.A, []rail.TxFrame{frame(to, 1, 100), long, frame(to, 3, 100)}); err != nil {
		t.Fatal(err)
	}
	expect(t, in, 1, 100)
	expect(t, in, 3, 100)
	if got := p.A.Stats(); got.TxErrors != 1 || got.TxFrames != 2 {
		t.Errorf("sent %d, errors %d, want 2 and 1", got.TxFrames, got.TxErrors)
	}
	finish(t, p.B, in)
}
