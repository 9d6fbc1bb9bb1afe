// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// pattern is what a flow carries again and again: its length is prime, so that no
// misplaced frame fits.
var pattern = func() []byte {
	p := make([]byte, 1<<20+7)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(p) // never fails
	return append(p, p[:chunk]...)
}()

// Bytes of one write or read, and of the pattern before it repeats.
const (
	chunk  = 256 << 10
	period = 1<<20 + 7
)

// Flow is a TCP connection that carries the pattern from out to in until Stop.
type Flow struct {
	out, in  net.Conn
	check    bool
	received atomic.Int64
	longest  atomic.Int64 // nanoseconds between two reads
	done     sync.WaitGroup
	err      error // of the reader, after done
}

// FlowOptions say what a flow does beside carrying data.
type FlowOptions struct {
	// Unchecked leaves out the comparison of every byte, where it would be a
	// large part of what is measured.
	Unchecked bool
}

// Connect makes a TCP connection from one host to another.
func Connect(ctx context.Context, from, to *Host) (out, in net.Conn, err error) {
	l, err := to.Listen(0)
	if err != nil {
		return nil, nil, err
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	type accepted struct {
		conn net.Conn
		err  error
	}
	c := make(chan accepted, 1)
	go func() {
		in, err := l.Accept()
		c <- accepted{in, err}
	}()
	if out, err = from.Dial(ctx, l.Addr().String()); err != nil {
		cancel()
		if a := <-c; a.conn != nil {
			_ = a.conn.Close()
		}
		return nil, nil, err
	}
	a := <-c
	if a.err != nil {
		return nil, nil, errors.Join(a.err, out.Close())
	}
	return out, a.conn, nil
}

// Start begins a flow from one host to another.
func Start(ctx context.Context, from, to *Host, o FlowOptions) (*Flow, error) {
	out, in, err := Connect(ctx, from, to)
	if err != nil {
		return nil, err
	}
	f := &Flow{out: out, in: in, check: !o.Unchecked}
	f.done.Add(2)
	go f.send()
	go f.receive()
	return f, nil
}

// send writes the pattern until the connection is closed; what went wrong before
// is the reader's to see.
func (f *Flow) send() {
	defer f.done.Done()
	for at := 0; ; {
		n, err := f.out.Write(pattern[at : at+chunk])
		if err != nil {
			return
		}
		at = (at + n) % period
	}
}

func (f *Flow) receive() {
	defer f.done.Done()
	buf := make([]byte, chunk)
	last := time.Now()
	for at := 0; ; {
		n, err := f.in.Read(buf)
		now := time.Now()
		f.longest.Store(max(f.longest.Load(), int64(now.Sub(last))))
		last = now
		if f.check && !bytes.Equal(buf[:n], pattern[at:at+n]) {
			f.err = fmt.Errorf("what arrived after %d bytes is not what was sent", f.received.Load())
			return
		}
		at = (at + n) % period
		f.received.Add(int64(n))
		if err != nil {
			f.err = err
			return
		}
	}
}

// Received is how many bytes have come so far.
func (f *Flow) Received() int64 { return f.received.Load() }

// Longest is the longest time between two reads since it was last asked, with
// the wait for the first.
func (f *Flow) Longest() time.Duration { return time.Duration(f.longest.Swap(0)) }

// Stop ends the flow; an error tells that it had ended, or carried wrong bytes,
// before.
func (f *Flow) Stop() error {
	_ = f.in.SetReadDeadline(time.Now())
	// The writer may wait for room that nobody makes any more.
	_ = f.out.SetWriteDeadline(time.Now())
	f.done.Wait()
	_ = f.in.Close()
	_ = f.out.Close()
	var timeout net.Error
	if errors.As(f.err, &timeout) && timeout.Timeout() {
		return nil
	}
	return fmt.Errorf("the flow ended early: %w", f.err)
}

// Load is several flows at once.
type Load []*Flow

// StartLoad begins n flows from one host to another.
func StartLoad(ctx context.Context, from, to *Host, n int, o FlowOptions) (Load, error) {
	var l Load
	for range n {
		f, err := Start(ctx, from, to, o)
		if err != nil {
			return nil, errors.Join(err, l.Stop())
		}
		l = append(l, f)
	}
	return l, nil
}

// Stop ends all flows.
func (l Load) Stop() error {
	var errs []error
	for _, f := range l {
		errs = append(errs, f.Stop())
	}
	return errors.Join(errs...)
}

// Rates measures for d and gives each flow's rate in bits per second.
func (l Load) Rates(d time.Duration) []float64 {
	before := make([]int64, len(l))
	start := time.Now()
	for i, f := range l {
		before[i] = f.Received()
	}
	time.Sleep(d)
	took := time.Since(start).Seconds()
	rates := make([]float64, len(l))
	for i, f := range l {
		rates[i] = float64(f.Received()-before[i]) * 8 / took
	}
	return rates
}

// Sum adds up rates.
func Sum(rates []float64) (sum float64) {
	for _, r := range rates {
		sum += r
	}
	return sum
}

// Jain is Jain's fairness index of rates: 1 where all are alike, 1/n where one
// has everything (Jain, Chiu, Hawe: DEC-TR-301, 1984).
func Jain(rates []float64) float64 {
	var square float64
	for _, r := range rates {
		square += r * r
	}
	if square == 0 {
		return 0
	}
	sum := Sum(rates)
	return sum * sum / (float64(len(rates)) * square)
}
