// SPDX-License-Identifier: Apache-2.0

package mem

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tbnet2/tbnet2/rail"
	"github.com/tbnet2/tbnet2/rail/model"
)

// BenchmarkLink is what an unlimited link carries (simulated: one copy in
// memory), with a reader that keeps up.
func BenchmarkLink(b *testing.B) {
	for _, size := range []int{64, 1500, 4096, 16384, 65000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) { benchLink(b, size) })
	}
}

func benchLink(b *testing.B, size int) {
	l := link(b, Config{})
	out := make([]rail.TxFrame, batch)
	for i := range out {
		out[i] = rail.TxFrame{To: l.B().Info().MAC, Head: make([]byte, 32), Body: [][]byte{make([]byte, size-32)}}
	}
	in := make([]rail.RxFrame, batch)
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for sent := 0; sent < b.N; {
		n, err := l.A().Send(out[:min(batch, b.N-sent)])
		if err != nil {
			b.Fatal(err)
		}
		sent += n
		for n > 0 {
			k, err := l.B().Recv(in)
			if err != nil {
				b.Fatal(err)
			}
			n -= k
		}
	}
}

// BenchmarkDelay tells how late frames of a link of 100 us arrive in real time.
func BenchmarkDelay(b *testing.B) {
	const delay = 100 * time.Microsecond
	l := link(b, Config{Params: model.Params{Delay: delay}})
	out := []rail.TxFrame{{To: l.B().Info().MAC, Head: make([]byte, 64)}}
	in := make([]rail.RxFrame, 1)
	var late []time.Duration
	for range b.N {
		start := time.Now()
		if _, err := l.A().Send(out); err != nil {
			b.Fatal(err)
		}
		if _, err := l.B().Recv(in); err != nil {
			b.Fatal(err)
		}
		late = append(late, time.Since(start)-delay)
	}
	slices.Sort(late)
	b.ReportMetric(float64(late[len(late)/2].Nanoseconds()), "late-ns/median")
}
