// SPDX-License-Identifier: Apache-2.0

package mem

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tbnet2/tbnet2/rail"
	"github.com/tbnet2/tbnet2/rail/model"
	"github.com/tbnet2/tbnet2/rail/railtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// link makes a link that is closed with the test.
func link(tb testing.TB, c Config) *Link {
	tb.Helper()
	l, err := New(c)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		for _, d := range []rail.Device{l.A(), l.B()} {
			if err := d.Close(); err != nil {
				tb.Error(err)
			}
		}
	})
	return l
}

// set changes a direction's knobs.
func set(tb testing.TB, l *Link, direction int, p model.Params) {
	tb.Helper()
	if err := l.Set(direction, p); err != nil {
		tb.Fatal(err)
	}
}

func TestContract(t *testing.T) {
	for name, p := range map[string]model.Params{
		"wire":    {},
		"delayed": {Delay: 200 * time.Microsecond, Jitter: 50 * time.Microsecond},
		"shaped":  {Rate: 10e9, Delay: 20 * time.Microsecond, Queue: 1 << 30},
	} {
		t.Run(name, func(t *testing.T) {
			railtest.Run(t, func(tb testing.TB) railtest.Pair {
				l := link(tb, Config{Name: "r", Seed: 3, Params: p, Ring: 1 << 20, TxRing: 256 << 10})
				narrow := p
				narrow.Rate = 100e6
				return railtest.Pair{
					A: l.A(), B: l.B(),
					SetCarrier: l.Plug,
					SetMTU: func(mtu int) {
						l.SetMTU(0, mtu)
						l.SetMTU(1, mtu)
					},
					Congest: func() { set(tb, l, 0, narrow) },
					Relax:   func() { set(tb, l, 0, p) },
				}
			})
		})
	}
}
