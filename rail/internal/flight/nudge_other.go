// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package flight

import "time"

// nudge is not needed where the runtime's timers are fine by themselves.
type nudge struct{}

func (nudge) arm(time.Duration) {}
func (nudge) close()            {}
