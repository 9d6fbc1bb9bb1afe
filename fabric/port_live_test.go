// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"errors"
	"testing"
	"time"

	"github.com/tbnet2/tbnet2/rail/model"
)

// A peer whose only rail is suspect for a moment is still there: what is sent
// to it waits for the rail's answer.
func TestSuspectRailIsNoLostPeer(t *testing.T) {
	a, b := newFabric(t, "a", nil), newFabric(t, "b", nil)
	links := wireUp(t, a, b, 1, 9000, model.Params{})
	railsUp(t, a, 1)
	railsUp(t, b, 1)
	var c counter
	b.Port().Handle(c.handle(b))
	events, stop := a.Subscribe()
	defer stop()
	for _, direction := range []int{0, 1} {
		links[0].Stall(direction, 100*time.Millisecond)
	}
	const packets = 5
	stream(t, a, 0, packets, 1000)
	for e := range events {
		if e.Kind == "rail" && e.State == "suspect" {
			break
		}
	}
	if got := a.Port().Peers(); got != 1 {
		t.Errorf("peers while suspect: got %d, want 1", got)
	}
	stream(t, a, packets, packets, 1000)
	eventually(t, "all packets", 5*time.Second, func() bool { return c.seen() == 2*packets })
	if c.bad != "" {
		t.Error(c.bad)
	}
}

// Who waits for a full queue is woken when the peer's last rail goes.
func TestWaitSendEndsWithTheLastRail(t *testing.T) {
	a, b := newFabric(t, "a", nil), newFabric(t, "b", nil)
	links := wireUp(t, a, b, 1, 9000, model.Params{Rate: 1e7})
	railsUp(t, a, 1)
	railsUp(t, b, 1)
	for i := uint64(0); ; i++ {
		if err := a.Port().Send(numbered(i, 60000)); errors.Is(err, ErrFull) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	woken := make(chan error, 1)
	go func() {
		for a.Port().Peers() > 0 { // room may come before the rail is down
			if err := a.Port().WaitSend(); err != nil {
				woken <- err
				return
			}
			for a.Port().Peers() > 0 && a.Port().Send(numbered(0, 60000)) == nil {
			}
		}
		woken <- nil
	}()
	links[0].Plug(false)
	select {
	case err := <-woken:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("still waiting 10 s after the last rail went")
		_ = a.Close()
		<-woken
	}
}
