// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"
)

// Limits of a Server. Zero fields take the default.
type Limits struct {
	Clients       int           // open connections at once, default 64
	ClientsOfUser int           // of one user other than root, default 16
	Idle          time.Duration // a connection without a whole request, default 60 s
	Write         time.Duration // for one response line, default 5 s
}

func (l Limits) withDefaults() Limits {
	def := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	def(&l.Clients, 64)
	def(&l.ClientsOfUser, 16)
	if l.Idle == 0 {
		l.Idle = time.Minute
	}
	if l.Write == 0 {
		l.Write = 5 * time.Second
	}
	return l
}

// rootReserve is the part of Limits.Clients that only root may take, so that
// an administrator gets in when others have opened all they may.
const rootReserve = 4

// Server answers clients of a Backend. Serve may be called once; Close stops
// it, ends all calls and waits for them.
type Server struct {
	backend Backend
	access  Access
	limits  Limits
	log     *slog.Logger

	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu     sync.Mutex // guards what follows
	conns  map[*net.UnixConn]uint32
	closed bool
}

// NewServer makes a server of b. log may be nil.
func NewServer(b Backend, a Access, l Limits, log *slog.Logger) *Server {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &Server{backend: b, access: a, limits: l.withDefaults(), log: log,
		ctx: ctx, cancel: cancel, conns: map[*net.UnixConn]uint32{}}
}

// Serve accepts clients until Close or until ln fails. It takes ownership of
// ln.
func (s *Server) Serve(ln *net.UnixListener) error {
	stop := context.AfterFunc(s.ctx, func() { _ = ln.Close() })
	defer stop()
	defer func() { _ = ln.Close() }()
	for {
		conn, err := ln.AcceptUnix()
		if s.ctx.Err() != nil {
			if err == nil {
				_ = conn.Close()
			}
			return nil
		}
		if err != nil {
			if tooMany(err) {
				s.pause()
				continue
			}
			return err
		}
		s.accept(conn)
	}
}

// pause waits a little for file descriptors to come free.
func (s *Server) pause() {
	select {
	case <-time.After(100 * time.Millisecond):
	case <-s.ctx.Done():
	}
}

// accept starts a client's goroutine, or refuses it.
func (s *Server) accept(conn *net.UnixConn) {
	caller, err := callerOf(conn)
	if err != nil {
		s.log.Warn("control: client refused", "error", err)
		_ = conn.Close()
		return
	}
	if err := s.enter(conn, caller.UID); err != nil {
		s.refuse(conn, err)
		return
	}
	go func() {
		defer s.leave(conn)
		(&client{server: s, conn: conn, caller: caller}).run()
	}()
}

// enter counts conn in, or says why not. It adds to wg under mu, so that Close
// cannot miss it.
func (s *Server) enter(conn *net.UnixConn, uid uint32) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	mine, others := 0, 0
	for _, u := range s.conns {
		if u == uid {
			mine++
		}
		if u != 0 {
			others++
		}
	}
	switch {
	case s.closed:
		return Errorf(CodeBusy, "the daemon is stopping")
	case len(s.conns) >= s.limits.Clients:
		return Errorf(CodeBusy, "too many clients (%d): try again", len(s.conns))
	case uid != 0 && others >= s.limits.Clients-rootReserve, uid != 0 && mine >= s.limits.ClientsOfUser:
		return Errorf(CodeBusy, "too many clients of user %d (%d): close some", uid, mine)
	}
	s.conns[conn] = uid
	s.wg.Add(1)
	return nil
}

func (s *Server) leave(conn *net.UnixConn) {
	_ = conn.Close()
	s.mu.Lock()
	delete(s.conns, conn)
	s.mu.Unlock()
	s.wg.Done()
}

// refuse tells why and closes. It must not block: a socket just accepted has
// room for one line.
func (s *Server) refuse(conn *net.UnixConn, err error) {
	_ = conn.SetWriteDeadline(time.Now().Add(10 * time.Millisecond))
	_ = writeLine(conn, Response{Version: ProtocolMax, Error: asError(err)})
	_ = conn.Close()
}

// Close ends every call and connection and waits. It is idempotent.
func (s *Server) Close() error {
	s.cancel()
	s.mu.Lock()
	s.closed = true
	for conn := range s.conns {
		_ = conn.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
	return nil
}

func asError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return &Error{Code: e.Code, Message: err.Error()}
	}
	return &Error{Code: CodeInternal, Message: err.Error()}
}
