// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"fmt"
	"time"

	"github.com/tbnet2/tbnet2/lab"
)

// Plan says what a demo does.
type Plan struct {
	Bytes  uint64   // to send, at least BytesLeast
	Mode   lab.Mode // how hosts are made
	Pull   string   // the cable that is pulled half-way
	Away   time.Duration
	Cables []lab.Cable
}

// BytesLeast keeps the measured halves longer than a start-up.
const BytesLeast = 16 << 20

// Default is the plan of `make demo`.
func Default() Plan {
	cable := func(rate uint64, delay time.Duration) lab.Cable {
		return lab.Cable{A: "a", B: "b", Rails: 2, MTU: 9000,
			Link: lab.Link{Rate: lab.Rate(rate), Delay: lab.Time(delay)}}
	}
	return Plan{
		Bytes: 256 << 20,
		Mode:  lab.Detect().Best,
		Pull:  "cable1",
		Away:  600 * time.Millisecond,
		Cables: []lab.Cable{
			cable(500e6, 50*time.Microsecond),
			cable(250e6, 300*time.Microsecond),
		},
	}
}

func (p Plan) check() error {
	if p.Bytes < BytesLeast {
		return fmt.Errorf("%d bytes are too few to measure by: send %d or more", p.Bytes, BytesLeast)
	}
	return nil
}

// rate is the sum of the cables' rates, bits per second.
func (p Plan) rate() uint64 {
	sum := uint64(0)
	for _, c := range p.Cables {
		sum += uint64(c.Rate)
	}
	return sum
}

func (p Plan) topology() lab.Topology {
	return lab.Topology{Hosts: []lab.Host{{Name: "a"}, {Name: "b"}}, Cables: p.Cables, Seed: 1}
}
