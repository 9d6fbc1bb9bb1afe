// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// bufferLen holds a superpacket's worth and the largest datagram with its
// SOCKS header, of at most 262 bytes.
const bufferLen = 64<<10 + 512

// relay is one connection through the proxy.
type relay struct {
	s              *service
	client, target net.Conn
	moves          atomic.Uint64 // reads that brought something
	stop           sync.Once
}

// relay carries bytes both ways until both have ended, or either breaks.
// fromClient reads the client, and may hold what was read ahead. The caller closes both ends.
func (s *service) relay(client, target net.Conn, fromClient io.Reader) {
	r := &relay{s: s, client: client, target: target}
	var ways sync.WaitGroup
	ways.Go(func() { r.carry(target, fromClient, &s.count.bytesOut) })
	ways.Go(func() { r.carry(client, target, &s.count.bytesIn) })
	if s.o.Idle > 0 {
		over := make(chan struct{})
		var watch sync.WaitGroup
		watch.Go(func() { r.watch(over) })
		defer watch.Wait()
		defer close(over)
	}
	ways.Wait()
}

// carry moves one way. The end of src is passed on alone; an error ends the
// other way too.
func (r *relay) carry(dst net.Conn, src io.Reader, bytes *atomic.Uint64) {
	err := r.copy(dst, src, bytes)
	if err == nil {
		err = closeWrite(dst)
	}
	if err != nil {
		r.abort(&r.s.count.broken)
	}
}

func (r *relay) copy(dst io.Writer, src io.Reader, bytes *atomic.Uint64) error {
	buf := r.s.buffer.Get().(*[bufferLen]byte)
	defer r.s.buffer.Put(buf)
	for {
		n, err := src.Read(buf[:])
		if n > 0 {
			r.moves.Add(1)
			m, werr := dst.Write(buf[:n])
			bytes.Add(uint64(m))
			if werr != nil {
				return werr
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// watch breaks the connection off when nothing has moved for a while.
func (r *relay) watch(over <-chan struct{}) {
	t := time.NewTicker(r.s.o.Idle)
	defer t.Stop()
	last := r.moves.Load()
	for {
		select {
		case <-over:
			return
		case <-t.C:
		}
		now := r.moves.Load()
		if now == last {
			r.abort(&r.s.count.idle)
			return
		}
		last = now
	}
}

// abort ends both ways for one reason, which is counted once.
func (r *relay) abort(reason *atomic.Uint64) {
	r.stop.Do(func() {
		reason.Add(1)
		abort(r.client)
		abort(r.target)
	})
}

// closeWrite ends one direction. A connection that cannot is closed whole, as
// its user could not learn of the end otherwise.
func closeWrite(c net.Conn) error {
	half, ok := c.(interface{ CloseWrite() error })
	if !ok {
		return c.Close()
	}
	err := half.CloseWrite()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// abort closes a connection so that the other end sees a reset instead of the
// end of the data, where the connection can do that.
func abort(c net.Conn) {
	if l, ok := c.(interface{ SetLinger(sec int) error }); ok {
		_ = l.SetLinger(0)
	}
	_ = c.Close()
}
