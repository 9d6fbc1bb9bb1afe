// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Client speaks to a served lab. Each call is a connection of its own; calls
// may run at the same time.
type Client struct {
	files *files
}

// NewClient gives a client of the lab called name; dir is "" for DefaultDir.
// It does not connect.
func NewClient(dir, name string) (*Client, error) {
	f, err := newFiles(dir, name)
	if err != nil {
		return nil, err
	}
	return &Client{files: f}, nil
}

// Status gives the lab's state and counters.
func (c *Client) Status(ctx context.Context) (Status, error) {
	r, err := c.call(ctx, request{Op: opStatus})
	if err != nil || r.Status == nil {
		return Status{}, err
	}
	return *r.Status, nil
}

// Unplug is Lab.Unplug.
func (c *Client) Unplug(ctx context.Context, target string) error {
	_, err := c.call(ctx, request{Op: opUnplug, Target: target})
	return err
}

// Plug is Lab.Plug.
func (c *Client) Plug(ctx context.Context, target string) error {
	_, err := c.call(ctx, request{Op: opPlug, Target: target})
	return err
}

// Set is Lab.Set.
func (c *Client) Set(ctx context.Context, target string, ch Change) error {
	_, err := c.call(ctx, request{Op: opSet, Target: target, Change: &ch})
	return err
}

// Verify is Lab.Verify, run by the serving process.
func (c *Client) Verify(ctx context.Context, p VerifyPlan) (Report, error) {
	r, err := c.call(ctx, request{Op: opVerify, Verify: &p})
	if r != nil && r.Report != nil {
		return *r.Report, err
	}
	return Report{}, err
}

// Down ends the lab and returns when nothing is left of it. A lab whose process
// crashed is removed just so; cleaned is true then.
func (c *Client) Down(ctx context.Context) (cleaned bool, err error) {
	_, err = c.call(ctx, request{Op: opDown})
	if !errors.Is(err, ErrNoLab) {
		return false, err
	}
	if _, serr := os.Stat(c.files.state()); errors.Is(serr, fs.ErrNotExist) {
		return false, err
	}
	if err := c.files.await(ctx); err != nil {
		return false, err
	}
	return true, errors.Join(c.files.clean(), c.files.release())
}

// ExecOptions say what to run in a host.
type ExecOptions struct {
	Host   string
	Args   []string
	Env    []string // nil: this process's
	Dir    string   // "": this process's
	Stdin  *os.File // all three must be set
	Stdout *os.File
	Stderr *os.File
	// Terminal gives the command a terminal of its own, joined to Stdin and
	// Stdout, which must be terminals: for shells.
	Terminal bool
	// Signals passes this process's SIGINT, SIGTERM and the like on.
	Signals bool
}

// Exec runs a command inside a host and waits for it. It returns the exit code,
// 128 plus the number where a signal ended it. When ctx ends, the command gets
// SIGHUP and Exec returns.
func (c *Client) Exec(ctx context.Context, o ExecOptions) (code int, err error) {
	if o.Terminal {
		t, err := openTerminal(o.Stdin, o.Stdout)
		if err != nil {
			return 0, err
		}
		o.Stdin, o.Stdout, o.Stderr = t.tty, t.tty, t.tty
		defer func() { err = errors.Join(err, t.close()) }()
	}
	r, err := execOf(o)
	if err != nil {
		return 0, err
	}
	l, done, err := c.connect(ctx)
	if err != nil {
		return 0, err
	}
	defer done()
	if err := l.write(r, int(o.Stdin.Fd()), int(o.Stdout.Fd()), int(o.Stderr.Fd())); err != nil {
		return 0, c.lost(err)
	}
	if o.Signals {
		defer onSignals(func(s syscall.Signal) {
			_ = l.write(request{Version: ControlVersion, Op: opSignal, Signal: int(s)})
		}, passed()...)()
	}
	out, err := c.receive(ctx, l)
	if err != nil || out.Exit == nil {
		return 0, err
	}
	return *out.Exit, nil
}

func execOf(o ExecOptions) (r request, err error) {
	if o.Stdin == nil || o.Stdout == nil || o.Stderr == nil {
		return r, errors.New("exec: stdin, stdout and stderr must be set")
	}
	x := &execRequest{Host: o.Host, Args: o.Args, Env: o.Env, Dir: o.Dir, Terminal: o.Terminal}
	if x.Env == nil {
		x.Env = os.Environ()
	}
	if x.Dir == "" {
		if x.Dir, err = os.Getwd(); err != nil {
			return r, fmt.Errorf("exec: working directory: %w", err)
		}
	}
	return request{Version: ControlVersion, Op: opExec, Exec: x}, nil
}

// call sends a request and waits for its answer.
func (c *Client) call(ctx context.Context, r request) (*reply, error) {
	r.Version = ControlVersion
	l, done, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := l.write(r); err != nil {
		return nil, c.lost(err)
	}
	return c.receive(ctx, l)
}

func (c *Client) receive(ctx context.Context, l *lines) (*reply, error) {
	var out reply
	if err := l.read(&out); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, c.lost(err)
	}
	return &out, out.err()
}

func (c *Client) lost(err error) error {
	return fmt.Errorf("lab %s: its process ended while asked (%w); see `tbnetctl lab down %s`", c.files.name, err, c.files.name)
}

// connect gives a connection that ctx's end breaks.
func (c *Client) connect(ctx context.Context) (*lines, func(), error) {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: c.files.socket()})
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ECONNREFUSED) {
		return nil, nil, fmt.Errorf("lab %s: %w in %s", c.files.name, ErrNoLab, c.files.dir)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("lab %s: %w", c.files.name, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	return &lines{conn: conn}, func() { stop(); _ = conn.Close() }, nil
}
