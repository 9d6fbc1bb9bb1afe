// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"sync/atomic"
	"syscall"
	"time"
)

// DefaultSocket is where the daemon listens.
const DefaultSocket = "/run/tbnet2/daemon.sock"

const (
	answerTime = 10 * time.Second      // for an answer that does not depend on a peer
	dialPace   = 10 * time.Millisecond // between tries while the socket's queue is full
)

// Client reaches a daemon's Backend through its socket. Each call opens a
// connection of its own, so calls may run at the same time, and a daemon that
// was restarted in between is found again. It implements Backend and Bencher.
type Client struct {
	path string
	id   atomic.Uint64
}

// NewClient makes a client of the daemon at path. Nothing is opened yet.
func NewClient(path string) *Client { return &Client{path: path} }

// Status implements Backend.
func (c *Client) Status(ctx context.Context) (*Status, error) {
	return call[Status](ctx, c, OpStatus, nil)
}

// Stats implements Backend.
func (c *Client) Stats(ctx context.Context) (*Stats, error) {
	return call[Stats](ctx, c, OpStats, nil)
}

// SetRails implements Backend.
func (c *Client) SetRails(ctx context.Context, set RailSet) (*RailsInUse, error) {
	return call[RailsInUse](ctx, c, OpSetRails, set)
}

// SetRailUp implements Backend.
func (c *Client) SetRailUp(ctx context.Context, rail string, up bool) error {
	_, err := call[struct{}](ctx, c, OpSetRailUp, railUpArgs{rail, up})
	return err
}

// SetBond implements Backend.
func (c *Client) SetBond(ctx context.Context, change BondChange) error {
	_, err := call[struct{}](ctx, c, OpSetBond, change)
	return err
}

// Reload implements Reloader.
func (c *Client) Reload(ctx context.Context) error {
	_, err := call[struct{}](ctx, c, OpReload, nil)
	return err
}

// Events implements Backend.
func (c *Client) Events(ctx context.Context, follow bool, each func(Event) error) error {
	_, err := stream(ctx, c, OpEvents, eventsArgs{follow}, func(data json.RawMessage) error {
		var e Event
		if err := json.Unmarshal(data, &e); err != nil {
			return err
		}
		return each(e)
	})
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// Bench implements Bencher.
func (c *Client) Bench(ctx context.Context, r BenchRequest, progress func(BenchProgress)) (*BenchResult, error) {
	data, err := stream(ctx, c, OpBench, r, func(data json.RawMessage) error {
		var p BenchProgress
		if err := json.Unmarshal(data, &p); err != nil {
			return err
		}
		if progress != nil {
			progress(p)
		}
		return nil
	})
	return decodeAs[BenchResult](data, err)
}

// call makes a call with one answer.
func call[T any](ctx context.Context, c *Client, op Op, args any) (*T, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	return decodeAs[T](stream(ctx, c, op, args, func(json.RawMessage) error { return nil }))
}

func decodeAs[T any](data json.RawMessage, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	out := new(T)
	if err := json.Unmarshal(data, out); err != nil {
		return nil, Errorf(CodeMalformed, "the daemon's answer makes no sense: %v", err)
	}
	return out, nil
}

// stream makes a call and hands its events to each until the answer comes.
func stream(ctx context.Context, c *Client, op Op, args any, each func(json.RawMessage) error) (json.RawMessage, error) {
	conn, err := c.dial(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	req := Request{Version: ProtocolMax, ID: c.id.Add(1), Op: op}
	if args != nil {
		if req.Args, err = json.Marshal(args); err != nil {
			return nil, err
		}
	}
	// A daemon that refuses the client may have answered and closed already:
	// what it said is worth more than the failed write.
	writeErr := writeLine(conn, req)
	in := bufio.NewReaderSize(conn, 64<<10)
	for {
		r, err := readResponse(in, req.ID)
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, Errorf(CodeBusy, "the daemon at %s did not answer %s in time: see its log", c.path, op)
		case err != nil && writeErr != nil:
			return nil, c.lost(op, writeErr)
		case err != nil:
			return nil, c.lost(op, err)
		case r.Error != nil:
			return nil, r.Error
		case r.Event != nil:
			if err := each(r.Event); err != nil {
				return nil, err
			}
		default:
			return r.OK, nil
		}
	}
}

// lost wraps an I/O error and lets errors that already have a code through.
func (c *Client) lost(op Op, err error) error {
	var e *Error
	if errors.As(err, &e) {
		return err
	}
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
		return Errorf(CodeNoDaemon, "the daemon at %s stopped while it answered %s", c.path, op)
	}
	return Errorf(CodeNoDaemon, "the daemon at %s: %s: %v", c.path, op, err)
}

// dial opens a connection. While the socket's queue is full, which any user can
// make it, it tries again.
func (c *Client) dial(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", c.path)
	tick := time.NewTicker(dialPace)
	defer tick.Stop()
	for errors.Is(err, syscall.EAGAIN) && ctx.Err() == nil {
		select {
		case <-tick.C:
			conn, err = d.DialContext(ctx, "unix", c.path)
		case <-ctx.Done():
		}
	}
	switch {
	case err == nil:
		return conn, nil
	case ctx.Err() != nil, isTimeout(err):
		return nil, Errorf(CodeBusy, "the daemon at %s has too many clients waiting: try again", c.path)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return nil, Errorf(CodeNoDaemon, "no daemon at %s: start it with `tbnetctl up` (or `systemctl start tbnet2`), or give --socket PATH", c.path)
	case errors.Is(err, fs.ErrPermission):
		return nil, Errorf(CodeDenied, "may not open %s: check its mode, or use sudo", c.path)
	}
	return nil, Errorf(CodeNoDaemon, "the daemon at %s: %v", c.path, err)
}

// readResponse reads one line of at most ResponseMax bytes.
func readResponse(in *bufio.Reader, id uint64) (Response, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > ResponseMax {
			return Response{}, Errorf(CodeMalformed, "the daemon's answer is longer than %d bytes", ResponseMax)
		}
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return Response{}, err
		}
	}
	var r Response
	if err := json.Unmarshal(line, &r); err != nil {
		return r, Errorf(CodeMalformed, "the daemon's answer makes no sense: %v", err)
	}
	return r, checkResponse(r, id)
}

func checkResponse(r Response, id uint64) error {
	switch {
	case r.Error != nil && r.ID == 0, r.Error != nil && r.ID == id:
		return nil
	case r.Version < ProtocolMin || r.Version > ProtocolMax:
		return Errorf(CodeVersion, "the daemon speaks control protocol %d, this tbnetctl (%s) %d to %d: install the daemon's version", r.Version, Version, ProtocolMin, ProtocolMax)
	case r.ID != id:
		return Errorf(CodeMalformed, "the daemon answered request %d, not %d", r.ID, id)
	case r.Event == nil && r.OK == nil:
		return Errorf(CodeMalformed, "the daemon's answer is empty")
	}
	return nil
}
