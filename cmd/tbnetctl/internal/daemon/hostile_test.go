// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/tbnet2/tbnet2/ctl"
)

// What a hostile user may make the daemon hold: 16 connections of the 64, with
// a reader's buffer and an answer each, and what a goroutine needs.
const (
	hostileHeap       = 16 << 20 // bytes
	hostileGoroutines = 64 * 3
	hostileFiles      = 64 + 16
)

// honestCalls are made while the hostile user is at it.
const honestCalls = 100

// TestHostileLocalUser runs a whole daemon at whose socket another user does
// everything but what it should. Meanwhile the administrator and a third user
// get every answer, and what the daemon holds stays within bounds.
func TestHostileLocalUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to become other users")
	}
	for role := range roles {
		if role == "honest" {
			continue
		}
		t.Run(role, func(t *testing.T) { besideHostile(t, role) })
	}
}

func besideHostile(t *testing.T, role string) {
	o := options(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, o) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	}()
	awaitDaemon(t, o.Socket)
	before := measureUse(t)
	hostile := startStranger(t, role, o.Socket, hostileUser)
	third := startStranger(t, "honest", o.Socket, honestUser)
	slowest, most := callAll(t, o.Socket)
	asked, did := third(), hostile()
	if asked == 0 || did == 0 {
		t.Errorf("the third user got %d answers, the hostile one tried %d times: this shows nothing", asked, did)
	}
	if most.heap > before.heap+hostileHeap || most.goroutines > before.goroutines+hostileGoroutines || most.files > before.files+hostileFiles {
		t.Errorf("the daemon held %+v, before %+v", most, before)
	}
	t.Logf("%d times; %d and %d honest calls, the slowest took %v; held at most %+v, before %+v", did, honestCalls, asked, slowest, most, before)
}

// awaitDaemon waits until the daemon answers.
func awaitDaemon(t *testing.T, socket string) {
	t.Helper()
	deadline, tick := time.After(10*time.Second), time.NewTicker(5*time.Millisecond)
	defer tick.Stop()
	c := ctl.NewClient(socket)
	for _, err := c.Status(t.Context()); err != nil; _, err = c.Status(t.Context()) {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal(err)
		}
	}
}

// callAll makes the administrator's calls, which read and change, and gives the
// time of the slowest and the most that the daemon held meanwhile.
func callAll(t *testing.T, socket string) (slowest time.Duration, most use) {
	t.Helper()
	c := ctl.NewClient(socket)
	for n := range honestCalls {
		start := time.Now()
		s, err := c.Status(t.Context())
		if err != nil || s.Host.Name != "node1" {
			t.Fatalf("call %d: status %+v, %v", n, s, err)
		}
		if err := c.SetRailUp(t.Context(), "none", true); ctl.CodeOf(err) != ctl.CodeNotFound {
			t.Fatalf("call %d: a change got %v", n, err)
		}
		slowest = max(slowest, time.Since(start))
		if n%10 == 0 {
			most = most.max(measureUse(t))
		}
	}
	return slowest, most
}

// use is what this process holds, the daemon within it.
type use struct {
	heap       uint64 // bytes that the collector cannot free
	goroutines int
	files      int
}

func measureUse(t *testing.T) use {
	t.Helper()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return use{m.HeapAlloc, runtime.NumGoroutine(), len(files)}
}

func (u use) max(v use) use {
	return use{max(u.heap, v.heap), max(u.goroutines, v.goroutines), max(u.files, v.files)}
}
