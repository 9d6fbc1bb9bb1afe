// SPDX-License-Identifier: Apache-2.0

package failover

import (
	"testing"
	"time"

	"github.com/tbnet2/tbnet2/lab"
)

// Bounds of the project's promise.
const (
	stallMost  = 300 * time.Millisecond
	returnMost = 1 * time.Second
)

func TestFailover(t *testing.T) {
	on, off := true, false
	discard := func(from string, on *bool) func(*lab.Lab) error {
		return func(l *lab.Lab) error { return l.Set("cable1", lab.Change{Discard: on, From: from}) }
	}
	for _, c := range []struct {
		name     string
		cut, end func(*lab.Lab) error
	}{
		{"carrier loss", func(l *lab.Lab) error { return l.Unplug("cable1") }, func(l *lab.Lab) error { return l.Plug("cable1") }},
		{"silent discard", discard("", &on), discard("", &off)},
		{"silent discard of what the sender sends", discard("a", &on), discard("a", &off)},
		{"silent discard of what the receiver sends", discard("b", &on), discard("b", &off)},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, a, b := pair(t)
			s := start(t, a, b)
			defer s.stop()
			s.stall()
			if err := c.cut(l); err != nil {
				t.Fatal(err)
			}
			s.more(8 << 20)
			eventually(t, "the rail is down at both ends", 2*time.Second, func() bool { return a.up() == 1 && b.up() == 1 })
			stall := s.stall()
			t.Logf("simulated: longest stall %v", stall)
			if stall > stallMost {
				t.Errorf("the flow stood still for %v, more than %v", stall, stallMost)
			}
			comeBack(t, l, c.end, a, b)
			s.more(8 << 20)
		})
	}
}

// comeBack ends the fault and waits until rail0 carries data again.
func comeBack(t *testing.T, l *lab.Lab, end func(*lab.Lab) error, a, b *host) {
	t.Helper()
	before := a.sent("rail0")
	began := time.Now()
	if err := end(l); err != nil {
		t.Fatal(err)
	}
	const enough = 1 << 20 // bytes: more than PINGs
	eventually(t, "rail0 carries data again", 5*time.Second, func() bool { return a.sent("rail0") > before+enough })
	if took := time.Since(began); took > returnMost {
		t.Errorf("the rail was back in use after %v, more than %v", took, returnMost)
	}
	eventually(t, "both rails up at both ends", time.Second, func() bool { return a.up() == 2 && b.up() == 2 })
}
