// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"errors"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/tbnet2/tbnet2/rail"
	"github.com/tbnet2/tbnet2/rail/mem"
)

// floodedRail always has a full batch of garbage.
type floodedRail struct {
	*mem.Device
	batches atomic.Int64
	closed  atomic.Bool
}

func (d *floodedRail) Recv(frames []rail.RxFrame) (int, error) {
	if d.closed.Load() {
		return 0, rail.ErrClosed
	}
	d.batches.Add(1)
	for i := range frames {
		frames[i] = rail.RxFrame{Data: make([]byte, 8)}
	}
	return len(frames), nil
}

func (d *floodedRail) Close() error {
	d.closed.Store(true)
	return d.Device.Close()
}

// TestFloodGivesWay: on a single processor, frames of another rail wait for a
// few batches of a flooded one, not until the scheduler takes it the processor.
func TestFloodGivesWay(t *testing.T) {
	const frames, batchesEach = 50, 20
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	f := newFabric(t, "a", nil)
	l, err := mem.New(mem.Config{Name: "flooded", MTU: 1500})
	if err != nil {
		t.Fatal(err)
	}
	flood := &floodedRail{Device: l.A()}
	if err := f.AddRail(flood, RailOptions{}); err != nil {
		t.Fatal(err)
	}
	other, err := mem.New(mem.Config{Name: "other", MTU: 1500})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.AddRail(other.A(), RailOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(l.B().Close(), other.B().Close()) })
	before := flood.batches.Load()
	for n := range uint64(frames) {
		hello := []rail.TxFrame{{To: other.A().Info().MAC, Head: make([]byte, 64)}} // of version 0
		if _, err := other.B().Send(hello); err != nil {
			t.Fatal(err)
		}
		for handled(f) <= n {
			runtime.Gosched()
		}
	}
	if took := flood.batches.Load() - before; took > frames*batchesEach {
		t.Errorf("%d frames waited for %d batches of the flooded rail, at most %d", frames, took, frames*batchesEach)
	} else {
		t.Logf("%d frames waited for %d batches", frames, took)
	}
}

// handled counts what came on the other rail.
func handled(f *Fabric) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.handshake.Stats().Frames + f.drops.version.Load()
}
