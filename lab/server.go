// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"
)

// ServeOptions describe a lab to be kept up.
type ServeOptions struct {
	Name     string   `json:"name"`
	Dir      string   `json:"dir,omitempty"` // "": DefaultDir
	Topology Topology `json:"topology"`
	Mode     Mode     `json:"mode"`
	// Ready is called once the lab is up and takes requests.
	Ready func(Status) `json:"-"`
}

// server is a lab that is kept up.
type server struct {
	lab   *Lab
	files *files

	ctx  context.Context // ends with a down request
	stop context.CancelFunc

	wg    sync.WaitGroup // connections
	mu    sync.Mutex
	conns map[*net.UnixConn]bool
	downs []*lines // who asked for the end, answered when all is undone
}

// Serve builds a lab, keeps it up until ctx ends or a client asks for its end,
// and undoes it. What a crashed lab of the same name left is removed first.
// The program calling it must call Main first. A mode that needs Enter is an
// error here: see Up.
func Serve(ctx context.Context, o ServeOptions) (err error) {
	f, err := newFiles(o.Dir, o.Name)
	if err != nil {
		return err
	}
	if err := f.makeDir(); err != nil {
		return err
	}
	if err := f.acquire(); err != nil {
		return err
	}
	s := &server{files: f, conns: map[*net.UnixConn]bool{}}
	// Clients that asked for the end hear of it when nothing is left.
	defer func() { s.tellDown(err) }()
	defer func() { err = errors.Join(err, f.release()) }()
	if err := f.clean(); err != nil {
		return fmt.Errorf("lab %s: left by a crash: %w", o.Name, err)
	}
	if err := s.build(ctx, o); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.lab.Close()) }()
	return s.run(ctx, o.Ready)
}

// build writes the state before the first name is made, so that a crash at any
// time leaves nothing that is not named in it.
func (s *server) build(ctx context.Context, o ServeOptions) error {
	in := Info{SchemaVersion: SchemaVersion, Name: o.Name, PID: os.Getpid(), Mode: o.Mode, Started: time.Now().UTC()}
	if o.Mode == ModeNamespaces {
		for _, h := range o.Topology.Hosts {
			in.NetNS = append(in.NetNS, netnsName(o.Name, h.Name))
		}
	}
	var err error
	if in.ID, err = newID(); err != nil {
		return err
	}
	if err := s.files.write(in); err != nil {
		return err
	}
	s.lab, err = newLab(ctx, o.Topology, o.Mode, config{name: o.Name, id: in.ID, stateDir: s.files.dir})
	return err
}

// run takes requests until the end.
func (s *server) run(ctx context.Context, ready func(Status)) error {
	s.ctx, s.stop = context.WithCancel(ctx)
	defer s.stop()
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: s.files.socket()})
	if err != nil {
		return fmt.Errorf("lab %s: %w", s.files.name, err)
	}
	if err := os.Chmod(s.files.socket(), 0o600); err != nil {
		return errors.Join(err, ln.Close())
	}
	stopped := context.AfterFunc(s.ctx, func() { _ = ln.Close() })
	defer stopped()
	if ready != nil {
		ready(s.lab.Status())
	}
	err = s.accept(ln)
	s.stop()
	s.hangUp()
	return errors.Join(err, s.drain())
}

// drainPause is how long commands that begin to end are left to it before what
// still runs in the lab is ended again.
const drainPause = 100 * time.Millisecond

// drain waits for the connections, and ends the commands that they wait for.
func (s *server) drain() (err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.wg.Wait()
	}()
	for {
		err = s.lab.reap()
		select {
		case <-done:
			return err
		case <-time.After(drainPause):
		}
	}
}

func (s *server) accept(ln *net.UnixListener) error {
	for {
		conn, err := ln.AcceptUnix()
		if s.ctx.Err() != nil {
			if err == nil {
				_ = conn.Close()
			}
			return nil
		}
		if err != nil {
			return fmt.Errorf("lab %s: accept: %w", s.files.name, err)
		}
		s.mu.Lock()
		s.conns[conn] = true
		s.mu.Unlock()
		s.wg.Add(1)
		go s.serve(conn)
	}
}

// hangUp ends the reading of every connection, and with it the commands they
// run; answers under way can still be written.
func (s *server) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.conns {
		_ = conn.CloseRead()
	}
}

// serve answers one connection's request.
func (s *server) serve(conn *net.UnixConn) {
	defer s.wg.Done()
	c := &lines{conn: conn}
	defer c.closeFiles()
	var r request
	if err := c.read(&r); err != nil {
		s.finish(c, nil)
		return
	}
	if r.Op == opDown && r.Version == ControlVersion {
		s.askDown(c)
		return
	}
	out := &reply{Version: ControlVersion}
	out.setError(s.answer(c, &r, out))
	s.finish(c, out)
}

// finish sends the answer, where there is one, and closes the connection.
func (s *server) finish(c *lines, out *reply) {
	if out != nil {
		_ = c.write(out) // the client may be gone
	}
	s.mu.Lock()
	delete(s.conns, c.conn)
	s.mu.Unlock()
	_ = c.conn.Close()
}

// askDown keeps the connection until all is undone.
func (s *server) askDown(c *lines) {
	s.mu.Lock()
	s.downs = append(s.downs, c)
	delete(s.conns, c.conn)
	s.mu.Unlock()
	s.stop()
}

func (s *server) tellDown(err error) {
	out := &reply{Version: ControlVersion}
	out.setError(err)
	for _, c := range s.downs {
		_ = c.write(out) // the client may be gone
		_ = c.conn.Close()
	}
}

func (s *server) answer(c *lines, r *request, out *reply) (err error) {
	if r.Version != ControlVersion {
		return fmt.Errorf("control version %d: this lab speaks %d; use the tbnetctl that started it", r.Version, ControlVersion)
	}
	switch r.Op {
	case opStatus:
		st := s.lab.Status()
		out.Status = &st
	case opUnplug:
		return s.lab.Unplug(r.Target)
	case opPlug:
		return s.lab.Plug(r.Target)
	case opSet:
		if r.Change == nil {
			return errors.New("set: nothing to change is named")
		}
		return s.lab.Set(r.Target, *r.Change)
	case opExec:
		if r.Exec == nil {
			return errors.New("exec: no command is named")
		}
		code, err := s.exec(c, r.Exec)
		out.Exit = &code
		return err
	case opVerify:
		return s.verify(c, r, out)
	default:
		return fmt.Errorf("unknown request %q", r.Op)
	}
	return nil
}

// verify runs until it is done or the client goes away.
func (s *server) verify(c *lines, r *request, out *reply) error {
	if r.Verify == nil {
		r.Verify = &VerifyPlan{}
	}
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		var next request
		if c.read(&next) != nil {
			cancel()
		}
	}()
	report, err := s.lab.Verify(ctx, *r.Verify)
	out.Report = &report
	_ = c.conn.CloseRead()
	<-gone
	return err
}
