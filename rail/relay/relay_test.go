// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/vishvananda/netns"

	"github.com/tbnet2/tbnet2/rail"
	"github.com/tbnet2/tbnet2/rail/model"
	"github.com/tbnet2/tbnet2/rail/netnstest"
	"github.com/tbnet2/tbnet2/rail/packet"
	"github.com/tbnet2/tbnet2/wire"
)

// cable joins two hosts by a relay in a namespace between them.
func cable(tb testing.TB, mtu int, p model.Params) (r *Relay, a, b *packet.Device) {
	tb.Helper()
	na, mid, nb := netnstest.New(tb), netnstest.New(tb), netnstest.New(tb)
	for _, ns := range []netns.NsHandle{na, mid, nb} {
		netnstest.Quiet(tb, ns)
	}
	netnstest.Veth(tb, na, mid, "r0", "ma", mtu)
	netnstest.Veth(tb, nb, mid, "r0", "mb", mtu)
	r, err := New(Config{NetNS: int(mid), A: "ma", B: "mb", Seed: 1, Params: p})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = r.Close() })
	open := func(ns netns.NsHandle) *packet.Device {
		d, err := packet.Open(packet.Config{Interface: "r0", NetNS: int(ns), Endpoint: 1, Bypass: true})
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = d.Close() })
		return d
	}
	return r, open(na), open(nb)
}

// frames makes n frames of size bytes for endpoint 1.
func frames(to rail.MAC, n, size int) []rail.TxFrame {
	b := make([]byte, size)
	h := wire.Header{Type: wire.TypeData, Index: 1<<8 | 1, Length: uint16(size - wire.HeaderLen)}
	h.Put(b)
	out := make([]rail.TxFrame, n)
	for i := range out {
		out[i] = rail.TxFrame{To: to, Head: b}
	}
	return out
}

func TestFramesCross(t *testing.T) {
	for _, size := range []int{64, 1500, 65535} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			_, a, b := cable(t, 65535, model.Params{Delay: 2 * time.Millisecond})
			start := time.Now()
			if _, err := a.Send(frames(b.Info().MAC, 1, size)); err != nil {
				t.Fatal(err)
			}
			var in [4]rail.RxFrame
			n, err := b.Recv(in[:])
			if err != nil || n != 1 || len(in[0].Data) != size {
				t.Fatalf("%d frames, %v", n, err)
			}
			if took := time.Since(start); took < 1900*time.Microsecond {
				t.Errorf("a frame took %v over a cable of 2 ms", took)
			}
		})
	}
}

func TestCountsAddUp(t *testing.T) {
	const n = 400
	r, a, b := cable(t, 1500, model.Params{Loss: model.Million / 10, Duplicate: model.Million / 10})
	for range n / 20 {
		if _, err := a.Send(frames(b.Info().MAC, 20, 1000)); err != nil {
			t.Fatal(err)
		}
	}
	deadline := time.After(10 * time.Second)
	go func() {
		in := make([]rail.RxFrame, 64)
		for {
			if _, err := b.Recv(in); err != nil {
				return
			}
		}
	}()
	for tick := time.NewTicker(time.Millisecond); ; {
		c, got := r.Counts(0), b.Stats().RxFrames
		if c.Frames == n && c.Lost > 0 && c.Duplicated > 0 && got == c.Frames-c.Lost+c.Duplicated {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%d frames arrived, counts %+v", got, c)
		}
	}
}

// BenchmarkRelayCeiling is what a cable carries at most here.
func BenchmarkRelayCeiling(b *testing.B) {
	for _, size := range []int{1500, 9000, 65000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			r, tx, rx := cable(b, 65535, model.Params{})
			go func() {
				in := make([]rail.RxFrame, 64)
				for {
					if _, err := rx.Recv(in); err != nil {
						return
					}
				}
			}()
			out := frames(rx.Info().MAC, 32, size)
			b.SetBytes(int64(size))
			b.ResetTimer()
			for sent := 0; sent < b.N; {
				n, err := tx.Send(out[:min(32, b.N-sent)])
				sent += n
				if err != nil {
					_ = tx.WaitSend()
				}
				for uint64(sent) > r.Counts(0).Frames+128 { // what the socket holds
					runtime.Gosched()
				}
			}
			b.StopTimer()
			b.ReportMetric(float64(rx.Stats().RxFrames)/float64(b.N), "arrived/frame")
		})
	}
}
