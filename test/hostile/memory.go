// SPDX-License-Identifier: Apache-2.0

package main

import (
	"runtime"
	"runtime/metrics"
	"sync"
	"time"
)

// heapWatch follows the live heap: what the last collection found, which is
// what somebody holds.
type heapWatch struct {
	quit chan struct{}
	done sync.WaitGroup
	base uint64
	most uint64 // of the collector's marks since
}

func watchHeap() *heapWatch {
	runtime.GC()
	w := &heapWatch{quit: make(chan struct{}), base: liveHeap()}
	w.done.Go(w.run)
	return w
}

// liveHeap is in bytes.
func liveHeap() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

func (w *heapWatch) run() {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		w.most = max(w.most, liveHeap())
		select {
		case <-tick.C:
		case <-w.quit:
			return
		}
	}
}

// stop gives by how much the live heap has grown at most, in bytes.
func (w *heapWatch) stop() uint64 {
	close(w.quit)
	w.done.Wait()
	return w.most - min(w.most, w.base)
}
