// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Waits after a failed Accept, so that a lack of descriptors is no busy loop.
const (
	acceptPauseLeast = 5 * time.Millisecond
	acceptPauseMost  = time.Second
)

// service is what SOCKS and Forwarder share: it owns all sockets and
// goroutines, and ends them.
type service struct {
	o     Options
	count counters
	slots chan struct{} // one for each connection or session that is open

	ctx    context.Context // ends with the service
	cancel context.CancelFunc

	mu     sync.Mutex
	open   map[io.Closer]struct{} // guarded by mu; nil after close
	tasks  sync.WaitGroup         // added to under mu, before close
	buffer sync.Pool
}

func newService(o Options) *service {
	o = o.withDefaults()
	s := &service{o: o, slots: make(chan struct{}, o.MaxConns), open: map[io.Closer]struct{}{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.buffer.New = func() any { return new([bufferLen]byte) }
	return s
}

// track takes c in, to be closed with the service. After that it is too late:
// c is closed at once.
func (s *service) track(c io.Closer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		end(c)
		return false
	}
	s.open[c] = struct{}{}
	return true
}

// release closes what was tracked.
func (s *service) release(c io.Closer) {
	s.mu.Lock()
	delete(s.open, c)
	s.mu.Unlock()
	_ = c.Close()
}

// start runs f on a goroutine of the service, unless that has ended.
func (s *service) start(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		return false
	}
	s.tasks.Go(f)
	return true
}

// close ends everything and waits for it. It is idempotent.
func (s *service) close() {
	s.cancel()
	s.mu.Lock()
	for c := range s.open {
		end(c)
	}
	s.open = nil
	s.mu.Unlock()
	s.tasks.Wait()
}

// end closes c; a connection is broken off, as it was not complete.
func end(c io.Closer) {
	if conn, ok := c.(net.Conn); ok {
		abort(conn)
		return
	}
	_ = c.Close()
}

// acquire takes a slot, and counts if there is none.
func (s *service) acquire() bool {
	select {
	case s.slots <- struct{}{}:
		s.count.active.Add(1)
		return true
	default:
		s.count.limited.Add(1)
		return false
	}
}

func (s *service) giveBack() {
	s.count.active.Add(-1)
	<-s.slots
}

// accept serves connections until the listener or the service ends. Each is
// closed when handle returns.
func (s *service) accept(l net.Listener, handle func(net.Conn)) {
	defer s.release(l)
	pause := acceptPauseLeast
	for {
		c, err := l.Accept()
		if s.ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
			if err == nil {
				abort(c)
			}
			return
		}
		if err != nil {
			s.count.acceptErrors.Add(1)
			s.o.Log.Warn("cannot accept a connection", "listen", l.Addr(), "err", err)
			if !s.sleep(pause) {
				return
			}
			pause = min(2*pause, acceptPauseMost)
			continue
		}
		pause = acceptPauseLeast
		s.admit(c, handle)
	}
}

func (s *service) sleep(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-s.ctx.Done():
		return false
	}
}

func (s *service) admit(c net.Conn, handle func(net.Conn)) {
	if !s.acquire() {
		s.o.Log.Warn("too many connections, one refused", "from", c.RemoteAddr(), "limit", s.o.MaxConns)
		abort(c)
		return
	}
	if !s.track(c) {
		s.giveBack()
		return
	}
	s.count.accepted.Add(1)
	if !s.start(func() {
		defer s.giveBack()
		defer s.release(c)
		handle(c)
	}) {
		s.release(c)
		s.giveBack()
	}
}

// dial opens a tracked connection to an address with a peer's name or an IP.
func (s *service) dial(d Dialer, network, address string) (net.Conn, error) {
	address, err := s.o.Names.resolve(address)
	if err != nil {
		s.count.dialErrors.Add(1)
		return nil, err
	}
	ctx, cancel := context.WithTimeout(s.ctx, s.o.DialTimeout)
	defer cancel()
	c, err := d.DialContext(ctx, network, address)
	if err != nil {
		s.count.dialErrors.Add(1)
		return nil, fmt.Errorf("proxy: dial %s %s: %w", network, address, err)
	}
	if !s.track(c) {
		return nil, net.ErrClosed
	}
	return c, nil
}
