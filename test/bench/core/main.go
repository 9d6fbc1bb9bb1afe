// SPDX-License-Identifier: Apache-2.0

// Command core measures what the transport's core costs per frame: both ends
// of an association in one goroutine, frames striped over rails, handed over
// rail by rail (so they arrive shuffled), resequenced and acknowledged. The
// peer is a hop over a buffered Go channel between two goroutines. Frames are
// short, since the core does not look at payload (no CRC, as on a link that
// has one), and what a rail or a copy costs is not the core's.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/tbnet2/tbnet2/bench"
)

func main() {
	frames := flag.Int("frames", 2_000_000, "frames per run")
	runs := flag.Int("runs", 5, "alternating runs")
	out := flag.String("out", "build/bench/core.json", "file to write")
	flag.Parse()
	if err := run(*frames, *runs, *out); err != nil {
		fmt.Fprintln(os.Stderr, "bench core:", err)
		os.Exit(1)
	}
}

func run(frames, runs int, out string) error {
	runtime.GOMAXPROCS(2)
	r := bench.New("core")
	for _, depth := range []int{1, 64} {
		row, err := bench.Compare(bench.Row{Case: "stripe+resequence", Metric: "ns_per_frame", Unit: "ns",
			Peer: peerName(depth), Simulated: true}, bench.Lower, runs,
			func() (float64, error) { return stripe(4, frames) },
			func() (float64, error) { return chanHop(depth, frames), nil })
		if err != nil {
			return err
		}
		r.Rows = append(r.Rows, row)
	}
	for _, rails := range []int{1, 2, 8, 16, 32} {
		row, err := bench.Alone(bench.Row{Case: fmt.Sprintf("rails-%d", rails), Metric: "ns_per_frame", Unit: "ns", Simulated: true},
			runs, func() (float64, error) { return stripe(rails, frames) })
		if err != nil {
			return err
		}
		r.Rows = append(r.Rows, row)
	}
	row, err := bench.Alone(bench.Row{Case: "stripe+resequence", Metric: "allocs_per_frame", Unit: "allocations", Simulated: true},
		runs, func() (float64, error) { return allocations(4, frames) })
	if err != nil {
		return err
	}
	r.Rows = append(r.Rows, row)
	if _, err := r.Write(filepath.Dir(out)); err != nil {
		return err
	}
	return r.Table(os.Stdout)
}

// peerName tells the channel's depth: the deeper, the fewer wake-ups.
func peerName(depth int) string {
	if depth == 1 {
		return "chan-hop"
	}
	return fmt.Sprintf("chan-hop-%d", depth)
}

// hop is what goes over the peer's channel: a frame's slice.
type hop []byte

// chanHop gives the ns of one send and one receive on a channel of a depth.
func chanHop(depth, n int) float64 {
	c, done := make(chan hop, depth), make(chan struct{})
	go func() {
		for range c {
		}
		close(done)
	}()
	f := make(hop, 64)
	start := time.Now()
	for range n {
		c <- f
	}
	close(c)
	<-done
	return float64(time.Since(start).Nanoseconds()) / float64(n)
}

// allocations gives the heap allocations per frame of a steady pipe.
func allocations(rails, frames int) (float64, error) {
	p, err := newPipe(rails)
	if err != nil {
		return 0, err
	}
	if err := p.run(frames / 10); err != nil { // grow what grows
		return 0, err
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := p.run(frames); err != nil {
		return 0, err
	}
	runtime.ReadMemStats(&after)
	perFrame := float64(after.Mallocs-before.Mallocs) / float64(frames)
	return float64(int(perFrame*1000)) / 1000, nil // the odd one of the runtime's own is no frame's
}

// stripe gives the ns per frame through both ends.
func stripe(rails, frames int) (float64, error) {
	p, err := newPipe(rails)
	if err != nil {
		return 0, err
	}
	if err := p.run(frames / 10); err != nil {
		return 0, err
	}
	start := time.Now()
	if err := p.run(frames); err != nil {
		return 0, err
	}
	return float64(time.Since(start).Nanoseconds()) / float64(frames), nil
}
