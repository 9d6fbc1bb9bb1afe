// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"testing"
)

// TestNoMemory has the C core play generated scripts while its requests for
// memory fail now and then: whatever it does then, it breaks nothing, and at
// the end nothing is left over.
func TestNoMemory(t *testing.T) {
	r := startRunner(t)
	for seed := uint64(1); seed <= 300; seed++ {
		s := generated(seed)
		lines := append([]string{fmt.Sprintf("fail %d", 2+seed%9)}, s.Lines...)
		if _, err := r.Play(lines); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
