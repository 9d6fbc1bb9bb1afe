// SPDX-License-Identifier: Apache-2.0

// Package railtest is the contract of rail.Device, as tests that every
// implementation runs.
package railtest

import (
	"testing"
	"time"

	"github.com/tbnet2/tbnet2/rail"
)

// Endpoint is whose frames the tests send: devices that filter by endpoint are
// opened with it.
const Endpoint = 7

// patience is how long a test waits for what must happen at once; a loaded
// machine is no failure.
const patience = 10 * time.Second

// Pair is two devices joined by a link, and the ways to disturb it. Functions
// that are nil are what a link cannot do, and skip the tests of that.
type Pair struct {
	A, B rail.Device
	// SetCarrier takes the carrier of both ends away or gives it back.
	SetCarrier func(up bool)
	// SetMTU changes both ends' MTU in bytes.
	SetMTU func(mtu int)
	// Congest makes the link so narrow that A soon refuses frames, and Relax
	// undoes it.
	Congest, Relax func()
}

// Run runs the contract. open makes a fresh pair, and closes it with the test;
// the tests close the devices too. MTU is at least 1500 bytes.
func Run(t *testing.T, open func(tb testing.TB) Pair) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, Pair)
	}{
		{"Content", content},
		{"Order", Order},
		{"Parts", parts},
		{"Addresses", addresses},
		{"BothWays", bothWays},
		{"HeldFrames", heldFrames},
		{"SmallBatches", smallBatches},
		{"TooLong", tooLong},
		{"BackPressure", backPressure},
		{"CloseWakesRecv", closeWakesRecv},
		{"CloseWakesWaitSend", closeWakesWaitSend},
		{"CloseTwice", closeTwice},
		{"CloseUnderLoad", closeUnderLoad},
		{"Carrier", carrier},
		{"MTU", mtu},
		{"Totals", totals},
		{"Allocations", allocations},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, open(t)) })
	}
}
