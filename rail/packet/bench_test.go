// SPDX-License-Identifier: Apache-2.0

package packet

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/tbnet2/tbnet2/rail"
)

// window is how many bytes the benchmark has on its way: as a transport would,
// it sends no more than the reader's ring holds.
const window = 1 << 20

// BenchmarkDevice is what one veth carries from one goroutine to another,
// nothing lost.
func BenchmarkDevice(b *testing.B) {
	for _, size := range []int{1500, 4096, 16384, 65000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) { benchDevice(b, size) })
	}
}

func benchDevice(b *testing.B, size int) {
	tx, rx := pair(b, 65535)
	batch := make([]rail.TxFrame, min(32, window/2/size))
	for i := range batch {
		batch[i] = frame(rx.Info().MAC, size, 1)
	}
	most := uint64(min(window/size, 256)) // slots, where frames are small
	var got atomic.Uint64
	credit := make(chan struct{}, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		in := make([]rail.RxFrame, 64)
		for {
			n, err := rx.Recv(in)
			got.Add(uint64(n))
			select {
			case credit <- struct{}{}:
			default:
			}
			if err != nil {
				return
			}
		}
	}()
	b.SetBytes(int64(size))
	b.ReportAllocs()
	b.ResetTimer()
	for sent := uint64(0); sent < uint64(b.N); {
		for sent-got.Load() > most-uint64(len(batch)) {
			<-credit
		}
		n, err := tx.Send(batch[:min(uint64(len(batch)), uint64(b.N)-sent)])
		sent += uint64(n)
		if err == rail.ErrAgain {
			err = tx.WaitSend()
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	for got.Load() < uint64(b.N) {
		<-credit
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)*float64(size)*8/float64(b.Elapsed().Nanoseconds()), "Gb/s")
	if st := rx.Stats(); st.RxDropped > 0 {
		b.Errorf("%d frames were dropped", st.RxDropped)
	}
	_ = rx.Close()
	<-done
}

// BenchmarkRoundTrip is a frame of 64 bytes there and back.
func BenchmarkRoundTrip(b *testing.B) {
	x, y := pair(b, 1500)
	done := make(chan struct{})
	go func() {
		defer close(done)
		in, out := make([]rail.RxFrame, 4), []rail.TxFrame{frame(x.Info().MAC, 64, 1)}
		for {
			if _, err := y.Recv(in); err != nil {
				return
			}
			if _, err := y.Send(out); err != nil {
				return
			}
		}
	}()
	in, out := make([]rail.RxFrame, 4), []rail.TxFrame{frame(y.Info().MAC, 64, 1)}
	for b.Loop() {
		if _, err := x.Send(out); err != nil {
			b.Fatal(err)
		}
		if _, err := x.Recv(in); err != nil {
			b.Fatal(err)
		}
	}
	_ = y.Close()
	<-done
}
