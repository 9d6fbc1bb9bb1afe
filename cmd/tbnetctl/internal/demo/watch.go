// SPDX-License-Identifier: Apache-2.0

package demo

import "time"

// watchEvery is how often progress is told.
const watchEvery = 200 * time.Millisecond

// watch tells of progress until quit.
func (d *run) watch(quit <-chan struct{}) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	before, at := d.railBytes(), time.Now()
	for {
		select {
		case <-tick.C:
		case <-quit:
			return
		}
		now := d.railBytes()
		took := time.Since(at).Seconds()
		p := Progress{Done: d.got.Load(), Total: d.plan.Bytes}
		for i, r := range now {
			rate := RailRate{Name: r.name, State: r.state}
			if i < len(before) && r.bytes >= before[i].bytes {
				rate.Bits = float64(r.bytes-before[i].bytes) * 8 / took
			}
			p.Rails = append(p.Rails, rate)
		}
		before, at = now, time.Now()
		d.tell(p)
	}
}

// railBytes is what the sender's rails have carried so far.
func (d *run) railBytes() []railTotal {
	p, _ := d.a.peer()
	var out []railTotal
	for _, r := range p.Rails {
		out = append(out, railTotal{r.Name, r.State, r.TxBytes})
	}
	return out
}

// railTotal is a rail's bytes sent.
type railTotal struct {
	name, state string
	bytes       uint64
}
