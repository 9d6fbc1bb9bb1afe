// SPDX-License-Identifier: Apache-2.0

package flight

import "time"

// Forever is a wait that only the wake channel ends.
const Forever time.Duration = 1<<63 - 1

// Alarm waits for a time, precisely where the machine is idle too, and works
// in a testing/synctest bubble. One goroutine waits on it. The zero value is
// ready; Close frees what it holds.
type Alarm struct {
	timer *time.Timer // nil until first used: it belongs to the bubble of its user
	nudge nudge
}

// Wait returns after d, or when wake has a value, which it takes.
func (a *Alarm) Wait(d time.Duration, wake <-chan struct{}) {
	if d <= 0 {
		return
	}
	if d == Forever {
		<-wake
		return
	}
	if a.timer == nil {
		a.timer = time.NewTimer(d)
	} else {
		a.timer.Reset(d)
	}
	a.nudge.arm(d)
	select {
	case <-a.timer.C:
	case <-wake:
		a.timer.Stop()
	}
}

// Close ends the alarm; nobody may wait on it any more.
func (a *Alarm) Close() {
	if a.timer != nil {
		a.timer.Stop()
	}
	a.nudge.close()
}
