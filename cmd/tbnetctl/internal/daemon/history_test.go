// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/tbnet2/tbnet2/ctl"
)

func numbered(n int) ctl.Event {
	return ctl.Event{Kind: ctl.EventRail, Message: fmt.Sprint(n)}
}

func TestHistoryKeepsTheLatest(t *testing.T) {
	h := newHistory()
	for n := range historyLen + 10 {
		h.add(numbered(n))
	}
	var got []string
	if err := h.read(t.Context(), false, func(e ctl.Event) error { got = append(got, e.Message); return nil }); err != nil {
		t.Fatal(err)
	}
	if len(got) != historyLen || got[0] != "10" || got[len(got)-1] != fmt.Sprint(historyLen+9) {
		t.Errorf("got %d events from %s to %s", len(got), got[0], got[len(got)-1])
	}
}

// TestSlowReaderIsTold stops reading while more events come than wait for one
// reader: what it gets afterwards says how many are missing, and where.
func TestSlowReaderIsTold(t *testing.T) {
	h := newHistory()
	h.add(numbered(-1))
	ctx, cancel := context.WithCancel(t.Context())
	const more = 20
	var got []ctl.Event
	err := h.read(ctx, true, func(e ctl.Event) error {
		got = append(got, e)
		switch {
		case len(got) == 1: // add may be called from here: no lock is held
			for n := range readerLen + more {
				h.add(numbered(n))
			}
		case len(got) == 3: // two places are free
			h.add(numbered(1000))
		case e.Message == "1000":
			cancel()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	last := got[len(got)-2:]
	if len(got) != 1+readerLen+2 || last[0].Kind != ctl.EventMissed || last[0].Message != fmt.Sprintf("%d events are missing here: this reader is too slow", more) || last[1].Message != "1000" {
		t.Errorf("got %d events, the last %+v", len(got), last)
	}
	if len(h.readers) != 0 {
		t.Error("the reader was not forgotten")
	}
	stop := errors.New("enough")
	if err := h.read(t.Context(), true, func(ctl.Event) error { return stop }); err != stop {
		t.Errorf("got %v", err)
	}
}
