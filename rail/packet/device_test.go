// SPDX-License-Identifier: Apache-2.0

package packet

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/tbnet2/tbnet2/rail"
	"github.com/tbnet2/tbnet2/rail/netnstest"
	"github.com/tbnet2/tbnet2/wire"
)

// pair opens both ends of a veth between two fresh namespaces.
func pair(tb testing.TB, mtu int) (a, b *Device) {
	tb.Helper()
	na, nb := netnstest.New(tb), netnstest.New(tb)
	netnstest.Veth(tb, na, nb, "r0", "r0", mtu)
	open := func(ns int) *Device {
		d, err := Open(Config{Interface: "r0", NetNS: ns, Endpoint: 7, Bypass: true})
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = d.Close() })
		return d
	}
	return open(int(na)), open(int(nb))
}

// frame makes a frame for endpoint 7 with size bytes.
func frame(to rail.MAC, size int, fill byte) rail.TxFrame {
	head := make([]byte, 32)
	h := wire.Header{Type: wire.TypeData, Index: 0x100 | 7, Length: uint16(size - wire.HeaderLen)}
	h.Put(head)
	return rail.TxFrame{To: to, Head: head, Body: [][]byte{bytes.Repeat([]byte{fill}, size-32)}}
}

func TestFramesArrive(t *testing.T) {
	for _, mtu := range []int{1500, 9000, 65535} {
		t.Run(fmt.Sprint(mtu), func(t *testing.T) {
			a, b := pair(t, mtu)
			if _, err := a.Send([]rail.TxFrame{frame(b.Info().MAC, mtu, 5)}); err != nil {
				t.Fatal(err)
			}
			var in [4]rail.RxFrame
			n, err := b.Recv(in[:])
			if err != nil || n != 1 {
				t.Fatalf("Recv: %d, %v", n, err)
			}
			if got := in[0]; len(got.Data) != mtu || got.From != a.Info().MAC || got.Data[mtu-1] != 5 {
				t.Fatalf("got %d bytes from %v", len(got.Data), got.From)
			}
		})
	}
}

func BenchmarkDevice(b *testing.B) {
	for _, size := range []int{1500, 4096, 16384, 65000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) { benchDevice(b, size) })
	}
}

func benchDevice(b *testing.B, size int) {
	tx, rx := pair(b, 65535)
	batch := make([]rail.TxFrame, 32)
	for i := range batch {
		batch[i] = frame(rx.Info().MAC, size, 1)
	}
	got := make(chan int)
	go func() {
		n := 0
		in := make([]rail.RxFrame, 64)
		for {
			k, err := rx.Recv(in)
			if err != nil {
				got <- n
				return
			}
			n += k
		}
	}()
	b.SetBytes(int64(size))
	b.ReportAllocs()
	b.ResetTimer()
	for sent := 0; sent < b.N; {
		n, err := tx.Send(batch[:min(len(batch), b.N-sent)])
		sent += n
		if err == rail.ErrAgain {
			_ = tx.WaitSend()
		} else if err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	st := rx.Stats()
	_ = rx.Close()
	n := <-got
	b.ReportMetric(float64(st.RxDropped)/float64(b.N), "dropped/frame")
	b.ReportMetric(float64(n)/float64(b.N), "arrived/frame")
}

// TestOnlyOwnFrames sends what the filter must keep out, and then a frame that
// it must let through.
func TestOnlyOwnFrames(t *testing.T) {
	a, b := pair(t, 1500)
	to := b.Info().MAC
	other := rail.MAC{2, 9, 9, 9, 9, 9}
	wrongEndpoint := frame(to, 100, 1)
	wrongEndpoint.Head[4] = 8
	mine := frame(to, 100, 2)
	hello := frame(rail.MAC(wire.HelloMAC), 100, 3)
	hello.Head[0] = wire.Version<<4 | byte(wire.TypeHello)
	if _, err := a.Send([]rail.TxFrame{frame(other, 100, 1), wrongEndpoint, hello, mine}); err != nil {
		t.Fatal(err)
	}
	var got []byte
	in := make([]rail.RxFrame, 8)
	for len(got) < 2 {
		n, err := b.Recv(in)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range in[:n] {
			got = append(got, f.Data[len(f.Data)-1])
		}
	}
	if string(got) != "\x03\x02" {
		t.Errorf("frames %v came, want 3 (HELLO) and 2", got)
	}
}
