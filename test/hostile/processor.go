// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
)

// ourTime is what this process has used of all processors.
func ourTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // fails only for what is not asked here
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// tick is the unit of /proc/stat: USER_HZ, which is 100 on every architecture
// that Go runs on.
const tick = 10 * time.Millisecond

// othersTime is what everybody else has used of them, the host of a virtual
// machine included.
func othersTime() (d time.Duration, err error) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	// cpu  user nice system idle iowait irq softirq steal guest guest_nice
	line, _, _ := bytes.Cut(stat, []byte("\n"))
	fields := bytes.Fields(line)
	if len(fields) < 9 || string(fields[0]) != "cpu" {
		return 0, fmt.Errorf("/proc/stat begins with %q", line)
	}
	for _, i := range []int{1, 2, 3, 6, 7, 8} {
		n, err := strconv.ParseInt(string(fields[i]), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("/proc/stat: %w", err)
		}
		d += time.Duration(n) * tick
	}
	return d - ourTime(), nil
}
