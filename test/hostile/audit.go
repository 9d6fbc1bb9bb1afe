// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tbnet2/tbnet2/fabric"
	"github.com/tbnet2/tbnet2/test/rig"
)

// Bounds of docs/protocol.md 9 on what strangers can make the victim keep.
const (
	peersMost    = 256
	noticesMost  = 64
	stationsMost = 4096
)

// sums are a victim's frames, as devices and as counters tell them.
type sums struct {
	received       uint64 // by devices
	taken, dropped uint64 // as counters tell; a drop has one reason
	faults         []string
}

// audit adds the victim's counters up.
func audit(s *fabric.Status) (a sums) {
	for _, d := range s.Devices {
		a.received += d.Stats.RxFrames
	}
	handshake := uint64(0)
	for reason, n := range s.Drops {
		switch rest, ok := strings.CutPrefix(reason, "handshake_"); {
		case ok && rest != "unsent":
			handshake += n
		case reason == "malformed", reason == "version", reason == "unknown_index", reason == "no_rail", reason == "ended":
			a.dropped += n
		}
	}
	a.add("handshake", s.Handshake.Frames, s.Handshake.Taken, handshake)
	a.add("ended associations", s.Past.Frames, s.Past.Taken, s.Past.Dropped())
	for i := range s.Peers {
		r := &s.Peers[i].Receive
		a.add("peer "+s.Peers[i].Host, r.Frames, r.Taken, r.Dropped())
	}
	return a
}

func (a *sums) add(who string, frames, taken, dropped uint64) {
	a.taken += taken
	a.dropped += dropped
	if frames != taken+dropped {
		a.faults = append(a.faults, fmt.Sprintf("%s: %d frames, but %d taken and %d dropped for a reason", who, frames, taken, dropped))
	}
}

// settled waits until the victim has looked at every frame, and fails if its
// counters do not add up then: every frame that came is taken, or dropped for
// one reason, and every one that the attacker sent came, or found the segment's
// ring full.
func (s *scene) settled(ctx context.Context) (a sums, err error) {
	var lost uint64
	err = rig.Within(ctx, 10*time.Second, "counters at rest", func() bool {
		st := s.victim.Status()
		a = audit(&st)
		rx := s.hostile.A().Stats()
		lost = rx.RxDropped + rx.RxErrors
		return a.received == a.taken+a.dropped && len(a.faults) == 0 && s.hostile.B().Stats().TxFrames == rx.RxFrames+lost
	})
	if err != nil {
		err = fmt.Errorf("%w: devices received %d frames, counters tell of %d taken and %d dropped; attacker sent %d, of which the segment delivered %d and dropped %d; %s",
			err, a.received, a.taken, a.dropped, s.hostile.B().Stats().TxFrames, s.hostile.A().Stats().RxFrames, lost, strings.Join(a.faults, "; "))
	}
	return a, err
}

// bounded holds the victim's tables to their limits.
func bounded(s *fabric.Status) error {
	var errs []error
	for _, b := range []struct {
		what       string
		held, most int
	}{
		{"peers", len(s.Peers), peersMost},
		{"notices", len(s.Mismatches), noticesMost},
		{"stations", int(s.Switch.Stations), stationsMost},
	} {
		if b.held > b.most {
			errs = append(errs, fmt.Errorf("%d %s, at most %d", b.held, b.what, b.most))
		}
	}
	return errors.Join(errs...)
}

// tell gives what was dropped and why, of the fabric and of all associations.
func tell(s *fabric.Status) string {
	all := map[string]uint64{}
	for reason, n := range s.Drops {
		all[reason] = n
	}
	count := func(reason string, n uint64) { all["rail_"+reason] += n }
	s.Past.Drops.Each(count)
	for i := range s.Peers {
		s.Peers[i].Receive.Drops.Each(count)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d peers;", len(s.Peers))
	for _, reason := range slices.Sorted(maps.Keys(all)) {
		if all[reason] != 0 {
			fmt.Fprintf(&b, " %s %d", reason, all[reason])
		}
	}
	return b.String()
}
