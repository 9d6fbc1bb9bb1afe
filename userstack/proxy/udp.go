// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// datagram is one from a client, and the session it belongs to.
type datagram struct {
	key    string   // of the session
	client net.Addr // where answers go
	target string   // HOST:PORT
	header []byte   // put before each answer
	data   []byte
}

// datagrams carries UDP between one socket, where clients are, and a session
// for each key, which has a socket of its own towards the target.
type datagrams struct {
	s   *service
	in  net.PacketConn
	out Dialer

	mu       sync.Mutex
	sessions map[string]*session // guarded by mu
	tasks    sync.WaitGroup
}

type session struct {
	d      *datagrams
	key    string
	conn   net.Conn
	client net.Addr
	header []byte
	moved  atomic.Bool // since idleness was last looked at
}

func newDatagrams(s *service, in net.PacketConn, out Dialer) *datagrams {
	return &datagrams{s: s, in: in, out: out, sessions: map[string]*session{}}
}

// serve reads the clients' socket until it is closed. judge says what a
// datagram is, or that it is to be dropped; b is valid until the next one.
func (d *datagrams) serve(judge func(b []byte, from net.Addr) (datagram, bool)) {
	buf := d.s.buffer.Get().(*[bufferLen]byte)
	defer d.s.buffer.Put(buf)
	for {
		n, from, err := d.in.ReadFrom(buf[:])
		if d.s.ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			d.s.count.acceptErrors.Add(1)
			if !d.s.sleep(acceptPauseLeast) {
				return
			}
			continue
		}
		g, ok := judge(buf[:n], from)
		if !ok {
			d.s.count.datagramsDropped.Add(1)
			continue
		}
		d.forward(g)
	}
}

func (d *datagrams) forward(g datagram) {
	s := d.session(g)
	if s == nil {
		return
	}
	s.moved.Store(true)
	if _, err := s.conn.Write(g.data); err != nil {
		d.s.count.datagramsDropped.Add(1)
		return
	}
	d.s.count.datagramsOut.Add(1)
	d.s.count.bytesOut.Add(uint64(len(g.data)))
}

// session finds or makes the session of a datagram. Only serve's goroutine
// makes them. nil: there cannot be one, which was counted.
func (d *datagrams) session(g datagram) *session {
	d.mu.Lock()
	s := d.sessions[g.key]
	d.mu.Unlock()
	if s != nil {
		return s
	}
	if !d.s.acquire() {
		return nil
	}
	conn, err := d.s.dial(d.out, "udp", g.target)
	if err != nil {
		d.s.giveBack()
		d.s.o.Log.Warn("cannot reach the target of a datagram", "target", g.target, "err", err)
		return nil
	}
	s = &session{d: d, key: g.key, conn: conn, client: g.client, header: g.header}
	d.mu.Lock()
	d.sessions[g.key] = s
	d.mu.Unlock()
	d.tasks.Go(s.answer)
	return s
}

// close ends all sessions; serve has returned.
func (d *datagrams) close() {
	d.mu.Lock()
	for _, s := range d.sessions {
		_ = s.conn.Close()
	}
	d.mu.Unlock()
	d.tasks.Wait()
}

// answer carries what comes back, until the session is idle or broken.
func (s *session) answer() {
	defer s.end()
	buf := s.d.s.buffer.Get().(*[bufferLen]byte)
	defer s.d.s.buffer.Put(buf)
	head := copy(buf[:], s.header)
	if s.rearm() != nil {
		return
	}
	for {
		n, err := s.conn.Read(buf[head:])
		switch {
		case err == nil:
			s.moved.Store(true)
			s.reply(buf[:head+n], n)
		case timedOut(err):
			if !s.moved.Swap(false) {
				s.d.s.count.idle.Add(1)
				return
			}
			if s.rearm() != nil {
				return
			}
		default:
			return // closed, or the target refused: the next datagram begins anew
		}
	}
}

// timedOut is for both the kernel's and gVisor's errors.
func timedOut(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) && ne.Timeout()
}

// rearm is not called for each datagram, only when the last wait is over.
func (s *session) rearm() error {
	return s.conn.SetReadDeadline(time.Now().Add(s.d.s.o.UDPIdle))
}

func (s *session) reply(b []byte, payload int) {
	c := &s.d.s.count
	if _, err := s.d.in.WriteTo(b, s.client); err != nil {
		c.datagramsDropped.Add(1)
		return
	}
	c.datagramsIn.Add(1)
	c.bytesIn.Add(uint64(payload))
}

func (s *session) end() {
	s.d.mu.Lock()
	delete(s.d.sessions, s.key)
	s.d.mu.Unlock()
	s.d.s.release(s.conn)
	s.d.s.giveBack()
}
