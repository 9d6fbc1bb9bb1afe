// SPDX-License-Identifier: Apache-2.0

package railtest

import (
	"testing"

	"github.com/tbnet2/tbnet2/rail"
)

// totals: every frame is in one total of the sender's and one of the
// receiver's, drops by a full ring included, and bytes are frames' bytes.
func totals(t *testing.T, p Pair) {
	const size = 1000
	to, batch := p.B.Info().MAC, 50
	overflow := p.B.Info().Ring/size + 1000 // more frames than the ring holds, and nobody reads
	var out []rail.TxFrame
	for seq := range uint32(batch) {
		out = append(out, frame(to, seq, size))
	}
	sent := uint64(0)
	for sent < uint64(overflow) {
		if err := sendAll(p.A, out); err != nil {
			t.Fatal(err)
		}
		sent += uint64(batch)
	}
	if got := p.A.Stats(); got.TxFrames != sent || got.TxBytes != sent*size || got.TxErrors != 0 {
		t.Errorf("sender: %+v, want %d frames of %d B", got, sent, size)
	}
	in := reader(p.B)
	go func() {
		for range in { // content is the other tests' matter
		}
	}()
	eventually(t, "the receiver's totals add up to what was sent", patience, func() bool {
		got := p.B.Stats()
		return got.RxFrames+got.RxDropped == sent && got.RxBytes == got.RxFrames*size
	})
	if got := p.B.Stats(); got.RxDropped == 0 || got.RxFrames == 0 || got.RxErrors != 0 {
		t.Errorf("receiver: %+v, want some received, some dropped by the full ring, no errors", got)
	}
	if err := p.B.Close(); err != nil {
		t.Error(err)
	}
}

// allocations: sending and receiving batches allocates nothing.
func allocations(t *testing.T, p Pair) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	const batch = 32
	var out []rail.TxFrame
	body := make([]byte, 900)
	for seq := range uint32(batch) {
		f := frame(p.B.Info().MAC, seq, 64)
		f.Body = [][]byte{body[:400], body[400:]}
		out = append(out, f)
	}
	in := make([]rail.RxFrame, batch)
	per := testing.AllocsPerRun(200, func() {
		if err := sendAll(p.A, out); err != nil {
			t.Fatal(err)
		}
		for got := 0; got < batch; {
			n, err := p.B.Recv(in)
			if err != nil {
				t.Fatal(err)
			}
			got += n
		}
	})
	if per != 0 {
		t.Errorf("%v allocations for a batch of %d frames", per, batch)
	}
}
