// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"syscall"
	"time"
)

// client is one connection to the Server. One goroutine runs it; during a call
// a second one watches for the client's leaving.
type client struct {
	server *Server
	conn   *net.UnixConn
	caller Caller
}

// run answers requests one after the other until the client leaves, sends
// something that is no request, or is idle for too long.
func (c *client) run() {
	in := bufio.NewReaderSize(c.conn, RequestMax)
	for {
		_ = c.conn.SetReadDeadline(time.Now().Add(c.server.limits.Idle))
		line, err := in.ReadSlice('\n')
		if err != nil {
			if errors.Is(err, bufio.ErrBufferFull) {
				_ = c.fail(0, Errorf(CodeMalformed, "request longer than %d bytes", RequestMax))
			}
			return
		}
		req, err := ParseRequest(line)
		if err != nil {
			_ = c.fail(req.ID, err)
			if CodeOf(err) == CodeMalformed {
				return // where its next request begins is anyone's guess
			}
			continue
		}
		req.Args = append(json.RawMessage(nil), req.Args...) // line is the reader's
		if !c.serve(in, req) {
			return
		}
	}
}

// serve answers one request and reports whether the connection goes on. While
// the call runs the connection is watched, so that a client that leaves ends
// its events or its bench.
func (c *client) serve(in *bufio.Reader, req Request) bool {
	if req.Op.changes() && !c.server.access.mayChange(c.caller) {
		return c.fail(req.ID, Errorf(CodeDenied, "%s needs root or membership of the daemon's group: use sudo, or `usermod -aG tbnet2 USER`", req.Op)) == nil
	}
	ctx, cancel := context.WithCancel(c.server.ctx)
	defer cancel()
	left := c.watch(in, cancel)
	ok, err := c.call(ctx, req)
	gone := left()
	if gone {
		return false
	}
	if err != nil {
		return c.fail(req.ID, err) == nil
	}
	return c.write(Response{Version: req.Version, ID: req.ID, OK: ok}) == nil
}

// watch calls cancel when the client closes its end. left stops the watching,
// waits for it and reports whether the client is gone. A client that sends the
// next request early only has it wait in the reader.
func (c *client) watch(in *bufio.Reader, cancel context.CancelFunc) (left func() bool) {
	_ = c.conn.SetReadDeadline(time.Time{})
	done := make(chan bool, 1)
	go func() {
		_, err := in.Peek(1)
		gone := err != nil && !isTimeout(err)
		if gone {
			cancel()
		}
		done <- gone
	}()
	return func() bool {
		_ = c.conn.SetReadDeadline(time.Unix(1, 0)) // wakes Peek
		return <-done
	}
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

// call makes the call on the backend and gives its answer as JSON.
func (c *client) call(ctx context.Context, req Request) (json.RawMessage, error) {
	b := c.server.backend
	switch req.Op {
	case OpStatus:
		return answer(b.Status(ctx))
	case OpStats:
		return answer(b.Stats(ctx))
	case OpSetRails:
		var set RailSet
		if err := req.decode(&set); err != nil {
			return nil, err
		}
		return answer(b.SetRails(ctx, set))
	case OpSetRailUp:
		var args railUpArgs
		if err := req.decode(&args); err != nil {
			return nil, err
		}
		return answer(struct{}{}, b.SetRailUp(ctx, args.Rail, args.Up))
	case OpSetBond:
		var change BondChange
		if err := req.decode(&change); err != nil {
			return nil, err
		}
		return answer(struct{}{}, b.SetBond(ctx, change))
	case OpEvents:
		var args eventsArgs
		if err := req.decode(&args); err != nil {
			return nil, err
		}
		err := b.Events(ctx, args.Follow, func(e Event) error { return c.event(req, e) })
		if err == nil && args.Follow && c.server.ctx.Err() != nil {
			err = Errorf(CodeInternal, "the daemon is stopping")
		}
		return answer(struct{}{}, err)
	case OpBench:
		return c.bench(ctx, req)
	case OpReload:
		b, ok := b.(Reloader)
		if !ok {
			return nil, Errorf(CodeUnsupported, "this backend has no configuration to read again")
		}
		return answer(struct{}{}, b.Reload(ctx))
	}
	return nil, Errorf(CodeUnsupported, "this daemon (tbnet2 %s) does not know %q: it is older than the client; restart it after its update", Version, string(req.Op))
}

func (c *client) bench(ctx context.Context, req Request) (json.RawMessage, error) {
	b, ok := c.server.backend.(Bencher)
	if !ok {
		return nil, Errorf(CodeUnsupported, "this backend cannot run benchmarks")
	}
	var r BenchRequest
	if err := req.decode(&r); err != nil {
		return nil, err
	}
	return answer(b.Bench(ctx, r, func(p BenchProgress) { _ = c.event(req, p) }))
}

func answer[T any](v T, err error) (json.RawMessage, error) {
	if err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

func (c *client) event(req Request, e any) error {
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return c.write(Response{Version: req.Version, ID: req.ID, Event: data})
}

func (c *client) fail(id uint64, err error) error {
	return c.write(Response{Version: ProtocolMax, ID: id, Error: asError(err)})
}

func (c *client) write(r Response) error {
	_ = c.conn.SetWriteDeadline(time.Now().Add(c.server.limits.Write))
	return writeLine(c.conn, r)
}

func writeLine(w io.Writer, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(data, '\n'))
	return err
}

// tooMany tells an accept that failed for want of descriptors or memory, which
// passes, from one that will not.
func tooMany(err error) bool {
	for _, e := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
