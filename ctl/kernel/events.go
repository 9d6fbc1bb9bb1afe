// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/tbnet2/tbnet2/ctl"
)

// Events implements ctl.Backend. The kernel keeps no past: without follow there
// is nothing to tell. Where the reader was too slow and the kernel dropped
// events, one EventMissed tells it, and the caller should read the status again.
func (b *Backend) Events(ctx context.Context, follow bool, each func(ctl.Event) error) error {
	c, f, err := b.open()
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	if !follow {
		return nil
	}
	group := slices.IndexFunc(f.Groups, func(g genetlink.MulticastGroup) bool { return g.Name == EventsGroup })
	if group < 0 {
		return ctl.Errorf(ctl.CodeUnsupported, "the module has no events: load the module of this release")
	}
	if err := c.JoinGroup(f.Groups[group].ID); err != nil {
		return ctl.Errorf(ctl.CodeInternal, "join the events: %v", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = c.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	return listen(ctx, c, each)
}

// source gives the messages of a multicast group.
type source interface {
	Receive() ([]genetlink.Message, []netlink.Message, error)
}

// listen hands on events until ctx ends, which interrupts the source.
func listen(ctx context.Context, c source, each func(ctl.Event) error) error {
	for {
		msgs, _, err := c.Receive()
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, unix.ENOBUFS):
			err = each(ctl.Event{SchemaVersion: ctl.SchemaVersion, Time: time.Now(), Kind: ctl.EventMissed,
				Message: "the kernel dropped events, as this program was too slow: read the status again"})
		case err != nil:
			err = ctl.Errorf(ctl.CodeInternal, "events: %v", err)
		default:
			err = tell(msgs, each)
		}
		if err != nil {
			return err
		}
	}
}

// tell hands on the events of messages.
func tell(msgs []genetlink.Message, each func(ctl.Event) error) error {
	for _, m := range msgs {
		if m.Header.Command != CmdEvent {
			continue
		}
		var e event
		if err := decodeNest(m.Data, AttrEvent, func(d *decoder) { decodeEvent(d, &e) }); err != nil {
			return err
		}
		if err := each(e.finish()); err != nil {
			return err
		}
	}
	return nil
}

// finish gives the event its state and its sentence.
func (e *event) finish() ctl.Event {
	out := e.Event
	out.SchemaVersion = ctl.SchemaVersion
	because := ""
	if e.Reason != "" {
		because = ": " + e.Reason
	}
	switch e.Kind {
	case ctl.EventPeer:
		out.State = string(name(peerStates, e.state))
		out.Message = fmt.Sprintf("peer %s is %s%s", e.Peer, out.State, because)
	case ctl.EventMismatch:
		out.Message = fmt.Sprintf("on rail %s%s", e.Rail, because)
	default:
		out.State = string(name(railStates, e.state))
		out.Message = fmt.Sprintf("rail %s to %s is %s%s", e.Rail, e.Peer, out.State, because)
	}
	return out
}
