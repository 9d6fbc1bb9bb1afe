// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// rate prints bits per second.
func rate(bps uint64) string {
	if bps == 0 {
		return "-"
	}
	return scaled(float64(bps), "b/s")
}

// size prints bytes.
func size(bytes uint64) string { return scaled(float64(bytes), "B") }

// scaled prints v with three digits and a decimal prefix.
func scaled(v float64, unit string) string {
	prefixes := []string{"", "k", "M", "G", "T", "P", "E"}
	i := 0
	for v >= 999.5 && i < len(prefixes)-1 {
		v /= 1000
		i++
	}
	digits := 2
	switch {
	case i == 0 || v >= 99.95:
		digits = 0
	case v >= 9.995:
		digits = 1
	}
	return fmt.Sprintf("%.*f %s%s", digits, v, prefixes[i], unit)
}

// span prints nanoseconds.
func span(ns int64) string {
	d := time.Duration(ns)
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	case d >= time.Microsecond:
		return d.Round(100 * time.Nanosecond).String()
	}
	return d.String()
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func list(items []string) string { return orDash(strings.Join(items, ", ")) }

// plural gives "1 rail", "2 rails".
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// simulatedNote prints the note that must stand above made-up figures.
func simulatedNote(w io.Writer, simulated bool) {
	if simulated {
		_, _ = fmt.Fprintln(w, "SIMULATED: the rails are no Thunderbolt hardware; no figure here says anything about it.")
	}
}
