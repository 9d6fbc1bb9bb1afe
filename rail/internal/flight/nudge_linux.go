// SPDX-License-Identifier: Apache-2.0

package flight

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// nudge makes the runtime look at its timers in time. An idle runtime sleeps
// in epoll_wait, whose timeout is whole milliseconds, so that a timer of
// 100 us fires after 1.1 ms; a timerfd in the same epoll set ends that sleep.
type nudge struct {
	file *os.File // in the runtime's poller; nobody reads it
	fd   int
	dead bool // there is none to be had: timers stay coarse
}

func (n *nudge) arm(d time.Duration) {
	if n.file == nil {
		n.open()
	}
	if n.dead {
		return
	}
	// On failure the timer is late, no more.
	_ = unix.TimerfdSettime(n.fd, 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}, nil)
}

func (n *nudge) open() {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		n.dead = true
		return
	}
	n.fd, n.file = fd, os.NewFile(uintptr(fd), "timerfd")
}

func (n *nudge) close() {
	if n.file != nil {
		_ = n.file.Close()
	}
	n.file, n.dead = nil, true
}
