// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// servedVar holds what a process that is a host of its own has to know.
const servedVar = "TBNET2_RIG_HOST"

// What a connection to a served host asks for, its first byte.
const (
	askEcho = 'e'
	askSink = 's'
)

// servedPort is where a served host listens.
const servedPort = 5001

// servedConfig is a host for a process of its own.
type servedConfig struct {
	Place    here
	Endpoint uint8
	Addr     string
	Size     int // bytes of an echo
	CPUs     []int
	Config   Config
}

// servedStats is a line that a served host answers each line of its stdin with;
// the first comes unasked, as soon as it listens.
type servedStats struct {
	Received int64         // bytes of payload
	CPU      time.Duration // of the process
	RailsUp  int
	Err      string `json:",omitempty"`
}

// served is a host in a process of its own.
type served struct {
	host     *Host
	size     int
	received atomic.Int64
}

// beServed makes this process a host until its stdin ends.
func beServed(config string) error {
	var c servedConfig
	if err := json.Unmarshal([]byte(config), &c); err != nil {
		return fmt.Errorf("%s: %w", servedVar, err)
	}
	if err := keepTo(c.CPUs); err != nil {
		return err
	}
	h, err := OpenEndpoint(c.Place, c.Addr, c.Endpoint, c.Config)
	if err != nil {
		return err
	}
	s := &served{host: h, size: c.Size}
	l, err := h.Listen(servedPort)
	if err != nil {
		return errors.Join(err, h.Close())
	}
	go s.accept(l)
	return errors.Join(s.answer(os.Stdin, os.Stdout), l.Close(), h.Close())
}

// answer tells how it stands, once and then for each line.
func (s *served) answer(in io.Reader, out io.Writer) error {
	lines, enc := bufio.NewScanner(in), json.NewEncoder(out)
	for more := true; more; more = lines.Scan() {
		st := servedStats{Received: s.received.Load(), CPU: CPUTime()}
		if s.host.Fabric != nil {
			st.RailsUp = s.host.RailsUp()
		}
		if err := enc.Encode(st); err != nil {
			return err
		}
	}
	return lines.Err()
}

func (s *served) accept(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return // closed
		}
		go s.serve(c)
	}
}

// serve does what a connection asks for until it ends; what went wrong is the
// asking side's to see.
func (s *served) serve(c net.Conn) {
	defer c.Close()
	var ask [1]byte
	if _, err := io.ReadFull(c, ask[:]); err != nil {
		return
	}
	if ask[0] == askEcho {
		_ = echo(c, s.size)
		return
	}
	buf := make([]byte, chunk)
	for {
		n, err := c.Read(buf)
		s.received.Add(int64(n))
		if err != nil {
			return
		}
	}
}

// CPUTime is what this process has used, in user and kernel.
func CPUTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		panic(err) // the arguments are constant
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// dialServed connects to a served host and asks for something.
func dialServed(ctx context.Context, from *Host, addr string, ask byte) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	c, err := from.Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	if _, err := c.Write([]byte{ask}); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}
