// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tbnet2/tbnet2/ctl"
)

// benchPort is where every daemon's bench service listens, in the bond only.
const benchPort = 17714

// The service's protocol. The client opens each flow with a request:
//
//	magic "tbn2bnch", version u8, direction u8, seconds u8, 5 zero bytes
//
// With benchSend the client sends until its time is up and closes its half;
// the server answers with the bytes it received, u64 little-endian. With
// benchReceive the server sends for that many seconds and closes.
const (
	benchMagic   = "tbn2bnch"
	benchVersion = 1
	benchSend    = 0
	benchReceive = 1
	benchHello   = 16 // bytes of a request
)

// Bounds that a peer cannot exceed.
const (
	benchConns = ctl.BenchFlowsMax + 8 // connections served at once
	benchSlack = 15 * time.Second      // beyond the seconds asked for
	benchBlock = 256 << 10             // bytes of one read or write
	benchOpen  = 5 * time.Second       // for the request
)

// benchServer serves peers' benchmarks.
type benchServer struct {
	ln    net.Listener
	log   *slog.Logger
	slots chan struct{}

	mu     sync.Mutex // guards conns and closed
	conns  map[net.Conn]bool
	closed bool
	wg     sync.WaitGroup
}

// serveBench starts the service on ln, which it owns.
func serveBench(ln net.Listener, log *slog.Logger) *benchServer {
	s := &benchServer{ln: ln, log: log, slots: make(chan struct{}, benchConns), conns: map[net.Conn]bool{}}
	s.wg.Add(1)
	go s.accept()
	return s
}

func (s *benchServer) accept() {
	defer s.wg.Done()
	for {
		conn, err := s.ln.Accept()
		if err != nil {
			return // closed
		}
		select {
		case s.slots <- struct{}{}:
		default:
			s.log.Warn("bench: too many connections, one refused", "peer", conn.RemoteAddr(), "limit", benchConns)
			_ = conn.Close()
			continue
		}
		if !s.enter(conn) {
			_ = conn.Close()
			return
		}
		go func() {
			defer s.leave(conn)
			if err := serveBenchConn(conn); err != nil {
				s.log.Info("bench: flow ended early", "peer", conn.RemoteAddr(), "error", err)
			}
		}()
	}
}

func (s *benchServer) enter(conn net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.conns[conn] = true
	s.wg.Add(1)
	return true
}

func (s *benchServer) leave(conn net.Conn) {
	_ = conn.Close()
	s.mu.Lock()
	delete(s.conns, conn)
	s.mu.Unlock()
	<-s.slots
	s.wg.Done()
}

// Close ends all flows and waits for them.
func (s *benchServer) Close() error {
	s.mu.Lock()
	s.closed = true
	for conn := range s.conns {
		_ = conn.Close()
	}
	s.mu.Unlock()
	err := s.ln.Close()
	s.wg.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// serveBenchConn serves one flow.
func serveBenchConn(conn net.Conn) error {
	_ = conn.SetDeadline(time.Now().Add(benchOpen))
	var hello [benchHello]byte
	if _, err := io.ReadFull(conn, hello[:]); err != nil {
		return err
	}
	direction, seconds, err := parseBench(hello[:])
	if err != nil {
		return err
	}
	_ = conn.SetDeadline(time.Now().Add(seconds + benchSlack))
	if direction == benchReceive {
		_, err := sendFor(context.Background(), conn, seconds, nil)
		return err
	}
	n, err := drain(conn, nil)
	if err != nil {
		return err
	}
	var count [8]byte
	binary.LittleEndian.PutUint64(count[:], n)
	_, err = conn.Write(count[:])
	return err
}

func parseBench(hello []byte) (direction byte, d time.Duration, err error) {
	seconds := int(hello[10])
	switch {
	case string(hello[:8]) != benchMagic:
		return 0, 0, errors.New("not a bench request")
	case hello[8] != benchVersion:
		return 0, 0, fmt.Errorf("bench protocol %d, this host speaks %d", hello[8], benchVersion)
	case hello[9] > benchReceive:
		return 0, 0, fmt.Errorf("unknown direction %d", hello[9])
	case seconds < 1 || seconds > ctl.BenchSecondsMax:
		return 0, 0, fmt.Errorf("%d seconds", seconds)
	}
	return hello[9], time.Duration(seconds) * time.Second, nil
}

// sendFor writes until the time is up, closes the sending half, and gives the
// bytes written. total, if set, is added to as it goes.
func sendFor(ctx context.Context, conn net.Conn, d time.Duration, total *atomic.Uint64) (uint64, error) {
	block := make([]byte, benchBlock)
	var n uint64
	for end := time.Now().Add(d); time.Now().Before(end) && ctx.Err() == nil; {
		w, err := conn.Write(block)
		n += uint64(w)
		if total != nil {
			total.Add(uint64(w))
		}
		if err != nil {
			return n, err
		}
	}
	if h, ok := conn.(interface{ CloseWrite() error }); ok {
		return n, h.CloseWrite()
	}
	return n, errors.New("this connection cannot close one half")
}

// drain reads until the other end closes its half.
func drain(conn net.Conn, total *atomic.Uint64) (uint64, error) {
	block := make([]byte, benchBlock)
	var n uint64
	for {
		r, err := conn.Read(block)
		n += uint64(r)
		if total != nil {
			total.Add(uint64(r))
		}
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}
