// SPDX-License-Identifier: Apache-2.0

//go:build !race

package railtest

// raceEnabled tells that the race detector is in, which allocates by itself.
const raceEnabled = false
