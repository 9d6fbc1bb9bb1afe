// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"fmt"
	"testing"

	"github.com/tbnet2/tbnet2/rail/model"
)

// BenchmarkWrite writes over two links in memory, 16 requests under way:
// simulated.
func BenchmarkWrite(b *testing.B) {
	for _, n := range []int{8, 4096, 65536, 1 << 20} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := newWorld(b, 2, model.Params{})
			x, _ := w.pair(b, RC)
			mx, my := w.a.mr(b, noise(n, 1), all), w.b.mr(b, make([]byte, n), all)
			wr := SendWR{Op: OpWrite, SGE: []SGE{mx.SGE(0, n)}, RemoteAddr: base, RKey: my.RKey()}
			b.SetBytes(int64(n))
			b.ReportAllocs()
			var done [16]WC
			open := 0
			for b.Loop() {
				post(b, x, wr)
				for open++; open >= 16; {
					open -= x.sendCQ.Poll(done[:])
				}
			}
			for open > 0 {
				open -= x.sendCQ.Poll(done[:])
			}
		})
	}
}
