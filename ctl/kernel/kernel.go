// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/tbnet2/tbnet2/ctl"
)

// dumpTries is how often a dump that changes overtook is asked for again.
const dumpTries = 10

// conn is a generic netlink socket.
type conn interface {
	GetFamily(name string) (genetlink.Family, error)
	SetOption(o netlink.ConnOption, enable bool) error
	SetDeadline(t time.Time) error
	SetReadDeadline(t time.Time) error
	JoinGroup(group uint32) error
	Send(m genetlink.Message, family uint16, flags netlink.HeaderFlags) (netlink.Message, error)
	Receive() ([]genetlink.Message, []netlink.Message, error)
	Close() error
}

// Backend is the module's ctl.Backend. Each call opens a socket of its own, so
// calls may run at the same time.
type Backend struct {
	dial  func() (conn, error)
	links func() (links, error)
}

// New makes the Backend of the module of this network namespace. Nothing is
// opened yet.
func New() *Backend {
	return &Backend{
		dial:  func() (conn, error) { return genetlink.Dial(nil) },
		links: machineLinks,
	}
}

// Present reports whether the module is loaded.
func (b *Backend) Present() bool {
	c, _, err := b.open()
	if err != nil {
		return false
	}
	_ = c.Close()
	return true
}

// open gives a socket and the family, which is asked for again after the module
// may have been loaded anew.
func (b *Backend) open() (conn, genetlink.Family, error) {
	c, err := b.dial()
	if err != nil {
		return nil, genetlink.Family{}, ctl.Errorf(ctl.CodeInternal, "generic netlink: %v", err)
	}
	f, err := c.GetFamily(Family)
	if err != nil {
		_ = c.Close()
		if errors.Is(err, fs.ErrNotExist) {
			return nil, f, ctl.Errorf(ctl.CodeNoDaemon, "the kernel module is not loaded: modprobe tbnet2, or run the daemon (tbnetctl up)")
		}
		return nil, f, ctl.Errorf(ctl.CodeInternal, "generic netlink family %s: %v", Family, err)
	}
	if f.Version < version {
		_ = c.Close()
		return nil, f, ctl.Errorf(ctl.CodeVersion, "the module speaks control version %d, this program %d: load the module of this release", f.Version, version)
	}
	// Texts of refusals; kernels since 4.12 have them, fakes need not.
	_ = c.SetOption(netlink.ExtendedAcknowledge, true)
	return c, f, nil
}

// request sends a command and gives the answers; a dump that changes overtook is
// repeated.
func (b *Backend) request(ctx context.Context, cmd uint8, data []byte, flags netlink.HeaderFlags) ([]genetlink.Message, error) {
	c, f, err := b.open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	for range dumpTries {
		msgs, torn, err := exchange(c, f.ID, cmd, data, flags)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			return nil, refusal(err)
		}
		if !torn {
			return msgs, nil
		}
	}
	return nil, ctl.Errorf(ctl.CodeBusy, "rails and peers change faster than they can be listed: try again")
}

// exchange does one request. torn: the answers are not of one moment.
func exchange(c conn, family uint16, cmd uint8, data []byte, flags netlink.HeaderFlags) (msgs []genetlink.Message, torn bool, err error) {
	m := genetlink.Message{Header: genetlink.Header{Command: cmd, Version: version}, Data: data}
	if _, err := c.Send(m, family, netlink.Request|flags); err != nil {
		return nil, false, err
	}
	msgs, raw, err := c.Receive()
	if errors.Is(err, unix.EINTR) {
		return nil, true, nil
	}
	for _, r := range raw {
		torn = torn || r.Header.Flags&netlink.DumpInterrupted != 0
	}
	return msgs, torn, err
}

// refusal gives the kernel's error its code and text.
func refusal(err error) error {
	text := err.Error()
	var op *netlink.OpError
	if errors.As(err, &op) && op.Message != "" {
		text = op.Message
	}
	code := ctl.CodeInternal
	switch {
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		code = ctl.CodeDenied
		if op == nil || op.Message == "" {
			text = "only root (CAP_NET_ADMIN) may change rails and bonds: use sudo"
		}
	case errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENOENT):
		code = ctl.CodeNotFound
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ERANGE):
		code = ctl.CodeInvalid
	case errors.Is(err, unix.EOPNOTSUPP):
		code = ctl.CodeUnsupported
	}
	return ctl.Errorf(code, "%s", text)
}

// dump asks for all of a kind and decodes the nest of each answer.
func dump[T any](ctx context.Context, b *Backend, cmd uint8, nest uint16, decode func(*decoder, *T)) ([]T, error) {
	msgs, err := b.request(ctx, cmd, nil, netlink.Dump)
	if err != nil {
		return nil, err
	}
	out := make([]T, len(msgs))
	for i, m := range msgs {
		if err := decodeNest(m.Data, nest, func(d *decoder) { decode(d, &out[i]) }); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// decodeNest calls each for every attribute of the nest in a message.
func decodeNest(data []byte, nest uint16, each func(*decoder)) error {
	d, err := netlink.NewAttributeDecoder(data)
	if err != nil {
		return malformed(err)
	}
	for d.Next() {
		if d.Type() != nest {
			continue
		}
		d.Nested(func(in *decoder) error {
			for in.Next() {
				each(in)
			}
			return in.Err()
		})
	}
	if err := d.Err(); err != nil {
		return malformed(err)
	}
	return nil
}

func malformed(err error) error {
	return ctl.Errorf(ctl.CodeMalformed, "the module's answer makes no sense: %v", err)
}
