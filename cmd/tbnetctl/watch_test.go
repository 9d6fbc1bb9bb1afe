// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/tbnet2/tbnet2/ctl"
)

// watched runs a command in the background; its output comes by lines.
func watched(t *testing.T, tool *tool, args ...string) (lines *bufio.Scanner, stop func() int) {
	t.Helper()
	r, w := io.Pipe()
	tool.app.out = w
	ctx, cancel := context.WithCancel(t.Context())
	code := make(chan int, 1)
	go func() {
		code <- tool.app.run(ctx, args)
		_ = w.Close()
	}()
	return bufio.NewScanner(r), func() int {
		cancel()
		_, _ = io.Copy(io.Discard, r)
		return <-code
	}
}

func next(t *testing.T, lines *bufio.Scanner) string {
	t.Helper()
	if !lines.Scan() {
		t.Fatalf("the output ended: %v", lines.Err())
	}
	return lines.Text()
}

func TestWatchJSONIsOneDocumentALine(t *testing.T) {
	tool := newTool()
	lines, stop := watched(t, tool, "status", "--watch", "--json")
	for i := range 3 {
		var s ctl.Status
		if err := json.Unmarshal([]byte(next(t, lines)), &s); err != nil || len(s.Rails) != 5-i {
			t.Fatalf("round %d: %v, %d rails", i, err, len(s.Rails))
		}
		tool.fake.Update(func(s *ctl.Status) { s.Rails = s.Rails[:len(s.Rails)-1] })
		if i < 2 {
			tool.ticks <- time.Time{}
		}
	}
	if code := stop(); code != 0 {
		t.Errorf("exit %d after the interrupt", code)
	}
}

// TestWatchStatsShowsRates moves the counters by 1 GB in one second.
func TestWatchStatsShowsRates(t *testing.T) {
	tool := newTool()
	lines, stop := watched(t, tool, "stats", "--watch")
	find := func() string {
		for {
			if l := next(t, lines); strings.HasPrefix(l, "tbr1 ") {
				return l
			}
		}
	}
	if l := find(); strings.Contains(l, "b/s") {
		t.Errorf("a rate without an earlier sample: %s", l)
	}
	tool.fake.Update(func(s *ctl.Status) {
		s.Time = s.Time.Add(time.Second)
		s.Rails[1].Counters.TxBytes += 1e9
	})
	go func() { tool.ticks <- time.Time{} }()
	if l := find(); !strings.Contains(l, "8.00 Gb/s") || !strings.Contains(l, "0 b/s") {
		t.Errorf("got %s", l)
	}
	if code := stop(); code != 0 {
		t.Errorf("exit %d after the interrupt", code)
	}
}

func TestWatchEndsWithTheDaemon(t *testing.T) {
	tool := newTool()
	lines, stop := watched(t, tool, "rails", "list", "-w")
	next(t, lines)
	tool.fake.Fail(ctl.Errorf(ctl.CodeNoDaemon, "no daemon any more"))
	go func() { tool.ticks <- time.Time{} }()
	for lines.Scan() {
	}
	if code := stop(); code != exitFail || !strings.Contains(tool.err.String(), "no daemon any more") {
		t.Errorf("exit %d, %s", code, tool.err.String())
	}
}

func TestEventsWatch(t *testing.T) {
	tool := newTool()
	tool.fake.Emit(ctl.Event{Kind: ctl.EventRail, Message: "before"})
	lines, stop := watched(t, tool, "events", "--watch")
	if l := next(t, lines); !strings.HasSuffix(l, "before") {
		t.Errorf("got %s", l)
	}
	tool.fake.Emit(ctl.Event{Kind: ctl.EventPeer, Message: "after"})
	if l := next(t, lines); !strings.HasSuffix(l, "peer  after") {
		t.Errorf("got %s", l)
	}
	if code := stop(); code != 0 {
		t.Errorf("exit %d", code)
	}
}

func TestTerminalPageClearsTheLast(t *testing.T) {
	tool := newTool()
	tool.outTTY = true
	lines, stop := watched(t, tool, "status", "--watch")
	if l := next(t, lines); !strings.HasPrefix(l, clear) {
		t.Errorf("got %q", l)
	}
	stop()
}
