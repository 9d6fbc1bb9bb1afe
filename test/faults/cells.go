// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"github.com/tbnet2/tbnet2/lab"
)

// cell is one fault. do brings it about, and ends it where it ends.
type cell struct {
	name  string
	do    func(*lab.Lab) error
	moves []string // counters that must move; those of clean must not otherwise
}

// clean are counters that move only in cells that name them.
func clean() []string { return []string{"crc", "hole_timeouts", "contradiction"} }

func set(target string, ch lab.Change) func(*lab.Lab) error {
	return func(l *lab.Lab) error { return l.Set(target, ch) }
}

func stall(d time.Duration) func(*lab.Lab) error {
	t := lab.Time(d)
	return set("cable1", lab.Change{Stall: &t})
}

func cells() []cell {
	loss, corrupt, on, burst := lab.Percent, lab.Percent/10, true, 8
	return []cell{
		{"loss-1e-2", set("cable1", lab.Change{Loss: &loss}), []string{"lost", "resent"}},
		{"loss-bursts", set("cable1", lab.Change{Loss: &loss, Burst: &burst}), []string{"lost", "resent"}},
		{"corruption", set("cable1", lab.Change{Corrupt: &corrupt}), []string{"crc", "lost", "resent"}},
		{"stall-50ms", stall(50 * time.Millisecond), []string{"suspicions"}},
		{"stall-500ms", stall(500 * time.Millisecond), []string{"suspicions", "flaps"}},
		{"discard-one-way", set("cable1", lab.Change{Discard: &on, From: "a"}), []string{"flaps"}},
		{"rail-dies", func(l *lab.Lab) error { return l.Unplug("cable1") }, []string{"flaps"}},
	}
}
