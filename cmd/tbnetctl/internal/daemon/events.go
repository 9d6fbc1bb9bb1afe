// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/tbnet2/tbnet2/ctl"
	"github.com/tbnet2/tbnet2/fabric"
)

// since remembers when each rail changed its state last.
type since struct {
	mu sync.Mutex // guards at
	at map[[2]string]time.Time
}

func newSince() *since { return &since{at: map[[2]string]time.Time{}} }

// of gives the time of a rail's last change; zero where none was seen.
func (s *since) of(rail, peer string) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at[[2]string{rail, peer}]
}

func (s *since) note(e fabric.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e.Kind {
	case "rail":
		s.at[[2]string{e.Rail, e.Peer}] = e.Time
	case "peer_down":
		for k := range s.at {
			if k[1] == e.Peer {
				delete(s.at, k)
			}
		}
	}
}

// follow turns the fabric's events into history until ctx ends or the fabric
// closes them.
func (d *daemon) follow(ctx context.Context, events <-chan fabric.Event) {
	for {
		select {
		case <-ctx.Done():
			return
		case e, open := <-events:
			if !open {
				return
			}
			d.since.note(e)
			out := translate(e)
			d.history.add(out)
			d.log.Debug(out.Message, "event", e.Kind) // the fabric has logged it
		}
	}
}

// translate gives an event of the ctl model.
func translate(e fabric.Event) ctl.Event {
	out := ctl.Event{SchemaVersion: ctl.SchemaVersion, Time: e.Time, Kind: ctl.EventRail, Peer: e.Peer, Rail: e.Rail, State: e.State, Reason: reasonText(e.Reason)}
	switch e.Kind {
	case "peer_up":
		out.Kind, out.State = ctl.EventPeer, string(ctl.PeerConnected)
		out.Message = fmt.Sprintf("peer %s is connected", e.Peer)
	case "peer_down":
		out.Kind, out.State = ctl.EventPeer, string(ctl.PeerLost)
		out.Message = fmt.Sprintf("peer %s is gone%s", e.Peer, colon(out.Reason))
	case "mismatch":
		out.Kind = ctl.EventMismatch
		out.Message = fmt.Sprintf("on rail %s: %s", e.Rail, e.Reason)
	case "rail":
		out.Message = fmt.Sprintf("rail %s%s is %s%s", e.Rail, toPeer(e.Peer), e.State, colon(out.Reason))
	case "rail_mtu":
		out.Message = fmt.Sprintf("rail %s%s carries frames of %d bytes", e.Rail, toPeer(e.Peer), e.MTU)
	case "rails_set":
		out.Message = fmt.Sprintf("the rails to %s were chosen anew", e.Peer)
	default:
		out.Message = fmt.Sprintf("%s %s%s", e.Kind, e.Rail, toPeer(e.Peer))
	}
	return out
}

func colon(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}
