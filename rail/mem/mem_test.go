// SPDX-License-Identifier: Apache-2.0

package mem

import (
	"bytes"
	"math/bits"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tbnet2/tbnet2/rail"
	"github.com/tbnet2/tbnet2/rail/model"
)

// bubble runs f in virtual time with a link.
func bubble(t *testing.T, c Config, f func(t *testing.T, l *Link)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, link(t, c)) })
}

// send sends n frames of size zero bytes from A and fails unless all are taken.
func send(t *testing.T, l *Link, n, size int) {
	t.Helper()
	frames := make([]rail.TxFrame, n)
	for i := range frames {
		frames[i] = rail.TxFrame{To: l.B().Info().MAC, Head: make([]byte, size)}
	}
	if k, err := l.A().Send(frames); k != n || err != nil {
		t.Fatalf("Send: %d of %d, %v", k, n, err)
	}
}

// recv takes n frames at B and gives the last one's content.
func recv(t *testing.T, l *Link, n int) (last []byte) {
	t.Helper()
	frames := make([]rail.RxFrame, 64)
	for n > 0 {
		k, err := l.B().Recv(frames[:min(n, len(frames))])
		if err != nil {
			t.Fatal(err)
		}
		n -= k
		last = frames[k-1].Data
	}
	return last
}

func TestDelayIsExact(t *testing.T) {
	bubble(t, Config{Params: model.Params{Delay: 1234567}}, func(t *testing.T, l *Link) {
		for range 5 {
			start := time.Now()
			send(t, l, 1, 100)
			recv(t, l, 1)
			if got := time.Since(start); got != 1234567 {
				t.Errorf("took %v, want 1.234567ms", got)
			}
		}
	})
}

func TestRateHolds(t *testing.T) {
	bubble(t, Config{Params: model.Params{Rate: 40e9, Queue: 1 << 30}}, func(t *testing.T, l *Link) {
		const n, size = 10_000, 4096
		start := time.Now()
		send(t, l, n, size)
		recv(t, l, n)
		if got, want := time.Since(start), time.Duration(n*size*8/40); got < want-1 || got > want+1 {
			t.Errorf("took %v, want %v", got, want)
		}
	})
}

func TestCableIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shapers [2]model.Shaper
		var guard sync.Mutex
		c := Config{Shapers: &shapers, Guard: &guard, Start: time.Now(), Params: model.Params{Rate: 8e9, Queue: 1 << 30}}
		l, other := link(t, c), link(t, c)
		send(t, l, 500, 1000)
		send(t, other, 500, 1000)
		start := time.Now()
		recv(t, l, 500)
		recv(t, other, 500)
		if got, want := time.Since(start), time.Millisecond; got != want {
			t.Errorf("1 MB over both rails of a cable of 1 GB/s took %v, want %v", got, want)
		}
	})
}

func TestStallHoldsBackWhatFlies(t *testing.T) {
	bubble(t, Config{Params: model.Params{Delay: time.Millisecond}}, func(t *testing.T, l *Link) {
		start := time.Now()
		send(t, l, 1, 100)
		l.Stall(0, 300*time.Millisecond)
		send(t, l, 1, 100)
		recv(t, l, 2)
		if got := time.Since(start); got != 300*time.Millisecond {
			t.Errorf("arrived after %v, want 300ms", got)
		}
		start = time.Now()
		send(t, l, 1, 100)
		recv(t, l, 1)
		if got := time.Since(start); got != time.Millisecond {
			t.Errorf("after the stall: %v, want 1ms", got)
		}
	})
}

func TestStallReachesAReaderThatWaits(t *testing.T) {
	bubble(t, Config{Params: model.Params{Delay: time.Millisecond}}, func(t *testing.T, l *Link) {
		start := time.Now()
		send(t, l, 1, 100)
		var took time.Duration
		done := make(chan struct{})
		go func() {
			defer close(done)
			recv(t, l, 1)
			took = time.Since(start)
		}()
		synctest.Wait()
		l.Stall(0, 5*time.Millisecond)
		<-done
		if took != 5*time.Millisecond {
			t.Errorf("arrived after %v, want 5ms", took)
		}
	})
}

func TestUnplugLosesWhatFlies(t *testing.T) {
	bubble(t, Config{Params: model.Params{Delay: time.Millisecond}}, func(t *testing.T, l *Link) {
		send(t, l, 3, 100)
		time.Sleep(time.Millisecond) // these have arrived
		send(t, l, 5, 100)
		l.Plug(false)
		send(t, l, 7, 100) // no carrier
		l.Plug(true)
		send(t, l, 1, 200)
		if got := recv(t, l, 4); len(got) != 200 {
			t.Errorf("the last frame has %d bytes, want 200", len(got))
		}
		if c := l.Counts(0); c.Unplugged != 5 || c.Frames != 9 {
			t.Errorf("counts %+v, want 5 of 9 unplugged", c)
		}
		if s := l.A().Stats(); s.TxErrors != 7 || s.TxFrames != 9 {
			t.Errorf("sender %+v, want 9 sent, 7 errors", s)
		}
	})
}

func TestDiscardIsOneWay(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, l *Link) {
		set(t, l, 0, model.Params{Discard: true})
		send(t, l, 10, 100)
		if !l.A().Info().Carrier || !l.B().Info().Carrier {
			t.Error("the carrier is gone")
		}
		if _, err := l.B().Send([]rail.TxFrame{{To: l.A().Info().MAC, Head: make([]byte, 77)}}); err != nil {
			t.Fatal(err)
		}
		var in [1]rail.RxFrame
		if n, err := l.A().Recv(in[:]); n != 1 || err != nil || len(in[0].Data) != 77 {
			t.Errorf("the other way: %d, %v", n, err)
		}
		set(t, l, 0, model.Params{})
		send(t, l, 1, 99)
		if got := recv(t, l, 1); len(got) != 99 {
			t.Errorf("got %d bytes", len(got))
		}
		if got := l.Counts(0).Discarded; got != 10 {
			t.Errorf("%d discarded, want 10", got)
		}
	})
}

func TestCorruptionFlipsOneBit(t *testing.T) {
	bubble(t, Config{Params: model.Params{Corrupt: model.Million}}, func(t *testing.T, l *Link) {
		for range 100 {
			send(t, l, 1, 500)
			got, ones := recv(t, l, 1), 0
			for _, b := range got {
				ones += bits.OnesCount8(b)
			}
			if ones != 1 {
				t.Fatalf("%d bits are turned, want 1", ones)
			}
		}
	})
}

func TestDuplicatesAreEqualAndAdjacent(t *testing.T) {
	bubble(t, Config{Params: model.Params{Duplicate: model.Million}}, func(t *testing.T, l *Link) {
		for i := range 10 {
			f := rail.TxFrame{To: l.B().Info().MAC, Head: bytes.Repeat([]byte{byte(i)}, 100)}
			if _, err := l.A().Send([]rail.TxFrame{f}); err != nil {
				t.Fatal(err)
			}
		}
		var in [32]rail.RxFrame
		n, err := l.B().Recv(in[:])
		if n != 20 || err != nil {
			t.Fatalf("got %d frames, %v, want 20", n, err)
		}
		for i := range n {
			if in[i].Data[0] != byte(i/2) {
				t.Errorf("frame %d is %d", i, in[i].Data[0])
			}
		}
	})
}

func TestQueueDropsAreCounted(t *testing.T) {
	bubble(t, Config{Params: model.Params{Rate: 1e9, Queue: 50_000}}, func(t *testing.T, l *Link) {
		send(t, l, 100, 1000)
		recv(t, l, 50)
		if got := l.Counts(0).QueueFull; got != 50 {
			t.Errorf("%d dropped by the queue, want 50", got)
		}
	})
}

func TestRingOverflowsWhenFramesArrive(t *testing.T) {
	bubble(t, Config{Ring: 10_000, Params: model.Params{Delay: time.Millisecond}}, func(t *testing.T, l *Link) {
		send(t, l, 8, 1000)
		time.Sleep(10 * time.Millisecond)
		recv(t, l, 8) // the ring is free again only with the next Recv
		send(t, l, 5, 1000)
		time.Sleep(10 * time.Millisecond)
		if got := l.B().Stats().RxDropped; got != 3 {
			t.Errorf("%d dropped while 8 kB of 10 are held, want 3", got)
		}
		recv(t, l, 2)
	})
}

func TestMTUOfTheReceiver(t *testing.T) {
	bubble(t, Config{MTU: 9000}, func(t *testing.T, l *Link) {
		l.SetMTU(1, 1500)
		send(t, l, 1, 1501)
		send(t, l, 1, 1500)
		recv(t, l, 1)
		if got := l.B().Stats(); got.RxErrors != 1 || got.RxFrames != 1 {
			t.Errorf("receiver %+v, want 1 error", got)
		}
	})
}

func TestTransmitRingWaits(t *testing.T) {
	bubble(t, Config{TxRing: 10_000, Params: model.Params{Rate: 8e9}}, func(t *testing.T, l *Link) {
		frames := make([]rail.TxFrame, 20)
		for i := range frames {
			frames[i] = rail.TxFrame{To: l.B().Info().MAC, Head: make([]byte, 1000)}
		}
		if n, err := l.A().Send(frames); n != 10 || err != rail.ErrAgain {
			t.Fatalf("Send: %d, %v, want 10 and ErrAgain", n, err)
		}
		start := time.Now()
		if err := l.A().WaitSend(); err != nil {
			t.Fatal(err)
		}
		if got := time.Since(start); got != 5*time.Microsecond { // half of the ring
			t.Errorf("waited %v, want 5us", got)
		}
		if n, err := l.A().Send(frames[10:]); n != 5 || err != rail.ErrAgain {
			t.Errorf("Send: %d, %v, want 5 and ErrAgain", n, err)
		}
		recv(t, l, 15)
		if c := l.Counts(0); c.QueueFull != 0 || c.Frames != 15 {
			t.Errorf("counts %+v: refused frames are not the link's", c)
		}
	})
}

func TestBadConfigs(t *testing.T) {
	for name, c := range map[string]Config{
		"mtu below": {MTU: 63}, "mtu above": {MTU: 65536}, "ring": {Ring: -1}, "to send": {TxRing: -1},
		"knobs": {Params: model.Params{Loss: -1}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := New(c); err == nil {
				t.Error("New takes it")
			}
		})
	}
}
