// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// entryServe and entryUserServe are processes that keep a lab up: options come
// as JSON on descriptor 3, and one upReply goes out on descriptor 4.
const (
	entryServe     = "serve"
	entryUserServe = "user-serve"
)

type upReply struct {
	Status *Status `json:"status,omitempty"`
	Error  string  `json:"error,omitempty"`
	Code   string  `json:"code,omitempty"`
}

// Up starts a process in the background that serves the lab, and returns once
// the lab is up. An empty mode is the best that Detect finds. What the process
// has to say goes to a log file beside the lab's state, removed with it. It
// stays a child of this one, which is meant to end soon.
func Up(ctx context.Context, o ServeOptions) (Status, error) {
	o.Topology = o.Topology.withDefaults()
	if err := errors.Join(checkMain(), o.Topology.Validate()); err != nil {
		return Status{}, err
	}
	support, err := chooseMode(&o)
	if err != nil {
		return Status{}, err
	}
	f, err := newFiles(o.Dir, o.Name)
	if err != nil {
		return Status{}, err
	}
	o.Dir = f.dir
	if err := f.makeDir(); err != nil {
		return Status{}, err
	}
	if f.locked() {
		return Status{}, fmt.Errorf("lab %s: %w", o.Name, ErrExists)
	}
	return start(ctx, o, f, support.Enter)
}

func chooseMode(o *ServeOptions) (Support, error) {
	d := Detect()
	if o.Mode == "" {
		o.Mode = d.Best
	}
	s := d.Get(o.Mode)
	if !s.OK {
		return s, fmt.Errorf("%w: %s: %s", ErrMode, o.Mode, s.Why)
	}
	return s, nil
}

// start runs this program as the serving process, in a session of its own.
func start(ctx context.Context, o ServeOptions, f *files, enter bool) (Status, error) {
	logFile, err := os.OpenFile(f.log(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return Status{}, fmt.Errorf("lab %s: log: %w", o.Name, err)
	}
	defer logFile.Close()
	optsR, optsW, err := os.Pipe()
	if err != nil {
		return Status{}, err
	}
	defer optsR.Close()
	readyR, readyW, err := os.Pipe()
	if err != nil {
		return Status{}, errors.Join(err, optsW.Close())
	}
	defer readyR.Close()
	cmd := exec.Command("/proc/self/exe")
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), entryVar+"="+entryServe)
	cmd.Stdout, cmd.Stderr = logFile, logFile
	cmd.ExtraFiles = []*os.File{optsR, readyW}
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if enter {
		cmd.Env = append(cmd.Env, entryVar+"="+entryUserServe)
		cmd.SysProcAttr = enterAttr()
	}
	cmd.SysProcAttr.Setsid = true
	err = cmd.Start()
	_ = readyW.Close()
	if err != nil {
		return Status{}, errors.Join(fmt.Errorf("lab %s: start: %w", o.Name, err), optsW.Close())
	}
	err = json.NewEncoder(optsW).Encode(o)
	if err := errors.Join(err, optsW.Close()); err != nil {
		return Status{}, fmt.Errorf("lab %s: start: %w", o.Name, err)
	}
	return awaitUp(ctx, cmd, readyR, f)
}

// awaitUp waits for the serving process's answer. When ctx ends first, the
// process is asked to end, and waited for.
func awaitUp(ctx context.Context, cmd *exec.Cmd, ready *os.File, f *files) (Status, error) {
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Signal(unix.SIGTERM) })
	defer stop()
	var r upReply
	err := json.NewDecoder(ready).Decode(&r)
	if err == nil && r.Error == "" && r.Status != nil {
		return *r.Status, cmd.Process.Release()
	}
	werr := cmd.Wait()
	if ctx.Err() != nil {
		return Status{}, ctx.Err()
	}
	if err != nil {
		text, _ := os.ReadFile(f.log())
		return Status{}, fmt.Errorf("lab %s: its process ended at once (%w): %s", f.name, errors.Join(err, werr), strings.TrimSpace(string(text)))
	}
	out := reply{Error: r.Error, Code: r.Code}
	return Status{}, out.err()
}

// becomeServer is the serving process's life; it returns the exit code.
func becomeServer() int {
	opts, ready := os.NewFile(3, "options"), os.NewFile(4, "ready")
	unix.CloseOnExec(3)
	unix.CloseOnExec(4)
	var o ServeOptions
	err := json.NewDecoder(opts).Decode(&o)
	_ = opts.Close()
	if err != nil {
		return tellUp(ready, fmt.Errorf("lab: options: %w", err))
	}
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGTERM, unix.SIGINT)
	defer stop()
	// Caught and dropped, not ignored: commands would inherit that.
	signal.Notify(make(chan os.Signal, 1), unix.SIGHUP)
	o.Ready = func(st Status) {
		_ = json.NewEncoder(ready).Encode(upReply{Status: &st})
		_ = ready.Close()
	}
	return tellUp(ready, Serve(ctx, o))
}

// tellUp tells an error that came before the lab was up to the process that
// waits for it, and to the log.
func tellUp(ready io.WriteCloser, err error) int {
	if err == nil {
		return 0
	}
	var r reply
	r.setError(err)
	_ = json.NewEncoder(ready).Encode(upReply{Error: r.Error, Code: r.Code}) // closed once up
	_ = ready.Close()
	fmt.Fprintln(os.Stderr, err)
	return 1
}
