// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"fmt"
	"io"
)

// Bars are the figures that a benchmark was asked for. A bar that is missed is
// printed and explained in docs/performance.md; it does not fail a run, since a
// machine's load is nobody's bug.
type Bars struct {
	asked  map[string]bool
	missed []string
}

// AtLeast asks for a figure. The same name asked twice counts once.
func (b *Bars) AtLeast(name string, figure, bar float64) {
	if b.asked[name] {
		return
	}
	if b.asked == nil {
		b.asked = map[string]bool{}
	}
	b.asked[name] = true
	if figure < bar {
		b.missed = append(b.missed, fmt.Sprintf("%s: %.3g, asked %.3g", name, figure, bar))
	}
}

// Print tells how many were met, and which were not.
func (b *Bars) Print(w io.Writer) error {
	_, err := fmt.Fprintf(w, "bars met: %d of %d\n", len(b.asked)-len(b.missed), len(b.asked))
	for _, m := range b.missed {
		if err == nil {
			_, err = fmt.Fprintln(w, "  missed:", m)
		}
	}
	return err
}
