// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"github.com/tbnet2/tbnet2/rail/model"
)

// params is a state in the link model's terms.
func (s state) params() model.Params {
	return model.Params{
		Rate:      uint64(s.Rate),
		Delay:     s.Delay.Duration(),
		Jitter:    s.Jitter.Duration(),
		Loss:      int(s.Loss),
		Burst:     s.Burst,
		Corrupt:   int(s.Corrupt),
		Duplicate: int(s.Duplicate),
		Queue:     int(s.Queue),
		Discard:   s.Discard,
	}
}

// seed differs for each link of a lab and follows from the topology's.
func (l *Lab) seed(k *link) uint64 {
	const odd = 0x9e3779b97f4a7c15 // 2^64 over the golden ratio: spreads small numbers
	return (l.topo.Seed + uint64(k.index) + 1) * odd
}
