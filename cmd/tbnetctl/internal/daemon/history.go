// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"fmt"
	"sync"

	"github.com/tbnet2/tbnet2/ctl"
)

// Bounds of what is kept of events.
const (
	historyLen = 256 // events that `tbnetctl events` shows
	readerLen  = 64  // events that wait for one slow reader
)

// history keeps the latest events and passes new ones to readers. A reader
// that is too slow misses some and is told so.
type history struct {
	mu      sync.Mutex // guards what follows
	past    []ctl.Event
	readers map[*reader]bool
}

type reader struct {
	events chan ctl.Event
	missed int // since the last that found room
}

func newHistory() *history { return &history{readers: map[*reader]bool{}} }

// add takes in an event. It never blocks.
func (h *history) add(e ctl.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.past) == historyLen {
		h.past = append(h.past[:0], h.past[1:]...)
	}
	h.past = append(h.past, e)
	for r := range h.readers {
		r.offer(e)
	}
}

func (r *reader) offer(e ctl.Event) {
	if r.missed > 0 {
		// Room for two: the notice and the event.
		if cap(r.events)-len(r.events) < 2 {
			r.missed++
			return
		}
		r.events <- missedEvent(e, r.missed)
		r.missed = 0
	}
	select {
	case r.events <- e:
	default:
		r.missed++
	}
}

// read calls each for all past events and, with follow, for new ones until ctx
// ends or each fails.
func (h *history) read(ctx context.Context, follow bool, each func(ctl.Event) error) error {
	r := &reader{events: make(chan ctl.Event, readerLen)}
	h.mu.Lock()
	past := append([]ctl.Event(nil), h.past...)
	if follow {
		h.readers[r] = true
	}
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		delete(h.readers, r)
		h.mu.Unlock()
	}()
	for _, e := range past {
		if err := each(e); err != nil {
			return err
		}
	}
	for follow {
		select {
		case <-ctx.Done():
			return nil
		case e := <-r.events:
			if err := each(e); err != nil {
				return err
			}
		}
	}
	return nil
}

func missedEvent(next ctl.Event, n int) ctl.Event {
	return ctl.Event{SchemaVersion: ctl.SchemaVersion, Time: next.Time, Kind: ctl.EventMissed,
		Message: fmt.Sprintf("%d events are missing here: this reader is too slow", n)}
}
