// SPDX-License-Identifier: Apache-2.0

package flight

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestQueueKeepsOrderAsItGrows(t *testing.T) {
	var q Queue
	next, want := time.Duration(0), time.Duration(0)
	for round := range 50 {
		for range 3 * round {
			q.Push(Flight{At: next})
			next++
		}
		for range min(2*round, q.Len()) {
			if got := q.First().At; got != want {
				t.Fatalf("first is %d, want %d", got, want)
			}
			if got := q.Pop().At; got != want {
				t.Fatalf("popped %d, want %d", got, want)
			}
			want++
		}
	}
	if got := q.Len(); got != int(next-want) {
		t.Errorf("%d left, want %d", got, next-want)
	}
}

func TestPoolGivesWhatFits(t *testing.T) {
	var p Pool
	for _, size := range []int{0, 1, 2048, 2049, 9000, 65535, Most} {
		b := p.Get(size)
		if len(b.Data) != size {
			t.Errorf("got %d bytes, want %d", len(b.Data), size)
		}
		p.Put(b)
		if again := p.Get(size); again != b {
			t.Errorf("a buffer of %d was not used again", size)
		}
	}
}

func TestPoolIsBounded(t *testing.T) {
	var p Pool
	var all []*Buffer
	for range 2 * freeBytes / Most {
		all = append(all, p.Get(Most))
	}
	for _, b := range all {
		p.Put(b)
	}
	if got, most := len(p.free[len(classes)-1]), freeBytes/Most; got != most {
		t.Errorf("keeps %d buffers, want %d", got, most)
	}
}

func TestAlarmInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a Alarm
		defer a.Close()
		for _, d := range []time.Duration{0, time.Nanosecond, 1234567, time.Hour} {
			start := time.Now()
			a.Wait(d, nil)
			if got := time.Since(start); got != d {
				t.Errorf("waited %v, want %v", got, d)
			}
		}
	})
}

func TestAlarmWakes(t *testing.T) {
	var a Alarm
	defer a.Close()
	for _, d := range []time.Duration{time.Hour, Forever} {
		wake := make(chan struct{}, 1)
		done := make(chan struct{})
		go func() {
			a.Wait(d, wake)
			close(done)
		}()
		wake <- struct{}{}
		<-done
	}
}

// TestAlarmIsFine holds the reason for nudge: without it the median is beyond
// a millisecond.
func TestAlarmIsFine(t *testing.T) {
	var a Alarm
	defer a.Close()
	var took []time.Duration
	for range 101 {
		start := time.Now()
		a.Wait(100*time.Microsecond, nil)
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	t.Logf("100 us take %v in the median, %v in the 95th percentile", took[50], took[95])
	if took[0] < 100*time.Microsecond {
		t.Errorf("too early: %v", took[0])
	}
	if took[10] > 900*time.Microsecond { // the quick ones: the machine may be busy
		t.Errorf("too late: %v", took[10])
	}
}
