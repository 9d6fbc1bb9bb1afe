// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tbnet2/tbnet2/ctl"
)

// dialer opens a TCP connection to the bench service of the peer.
type dialer func(ctx context.Context) (net.Conn, error)

// runBench makes all runs of r, one after the other.
func runBench(ctx context.Context, dial dialer, r ctl.BenchRequest, progress func(ctl.BenchProgress)) ([]ctl.BenchRun, error) {
	if err := checkBench(r); err != nil {
		return nil, err
	}
	var out []ctl.BenchRun
	for _, flows := range r.Flows {
		for _, direction := range []string{ctl.Sending, ctl.Receiving} {
			b := &benchRun{dial: dial, direction: direction, flows: flows, length: time.Duration(r.Seconds) * time.Second, progress: progress}
			run, err := b.run(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s with %d flows: %w", direction, flows, err)
			}
			out = append(out, run)
		}
	}
	return out, nil
}

func checkBench(r ctl.BenchRequest) error {
	if r.Seconds < 1 || r.Seconds > ctl.BenchSecondsMax {
		return ctl.Errorf(ctl.CodeInvalid, "%d seconds are not from 1 to %d", r.Seconds, ctl.BenchSecondsMax)
	}
	if len(r.Flows) == 0 || len(r.Flows) > 8 {
		return ctl.Errorf(ctl.CodeInvalid, "%d numbers of flows are not from 1 to 8", len(r.Flows))
	}
	for _, f := range r.Flows {
		if f < 1 || f > ctl.BenchFlowsMax {
			return ctl.Errorf(ctl.CodeInvalid, "%d flows are not from 1 to %d", f, ctl.BenchFlowsMax)
		}
	}
	return nil
}

// benchRun is one run: some flows in one direction.
type benchRun struct {
	dial      dialer
	direction string
	flows     int
	length    time.Duration
	progress  func(ctl.BenchProgress)

	moved atomic.Uint64 // bytes so far, by all flows
}

// run opens all flows, then starts them together. The time is from that start
// to the last byte's arrival, so what is still queued at the end is not given
// away.
func (b *benchRun) run(ctx context.Context) (ctl.BenchRun, error) {
	ctx, cancel := context.WithTimeout(ctx, b.length+benchSlack+benchOpen)
	defer cancel()
	conns, err := b.open(ctx)
	defer closeAll(conns)
	if err != nil {
		return ctl.BenchRun{}, err
	}
	stop := context.AfterFunc(ctx, func() { closeAll(conns) })
	defer stop()
	begin := time.Now()
	told := b.tell(begin)
	errs := make([]error, len(conns))
	counts := make([]uint64, len(conns))
	var wg sync.WaitGroup
	for i, conn := range conns {
		wg.Go(func() { counts[i], errs[i] = b.flow(ctx, conn) })
	}
	wg.Wait()
	took := time.Since(begin)
	told()
	if err := errors.Join(errs...); err != nil {
		return ctl.BenchRun{}, oneError(ctx, err)
	}
	out := ctl.BenchRun{Direction: b.direction, Flows: b.flows, Seconds: took.Seconds()}
	for _, n := range counts {
		out.Bytes += n
	}
	out.BPS = uint64(float64(out.Bytes) * 8 / took.Seconds())
	return out, nil
}

func oneError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctl.Errorf(ctl.CodeUnreachable, "the peer did not keep up, or the run was ended: %v", ctx.Err())
	}
	return err
}

// open dials every flow and sends its request.
func (b *benchRun) open(ctx context.Context) ([]net.Conn, error) {
	hello := make([]byte, benchHello)
	copy(hello, benchMagic)
	hello[8], hello[10] = benchVersion, byte(b.length/time.Second)
	if b.direction == ctl.Receiving {
		hello[9] = benchReceive
	}
	ctx, cancel := context.WithTimeout(ctx, benchOpen)
	defer cancel()
	var conns []net.Conn
	for range b.flows {
		conn, err := b.dial(ctx)
		if err != nil {
			return conns, ctl.Errorf(ctl.CodeUnreachable, "the peer's bench service does not answer (does its daemon run with a bond?): %v", err)
		}
		conns = append(conns, conn)
		if _, err := conn.Write(hello); err != nil {
			return conns, err
		}
	}
	return conns, nil
}

func closeAll(conns []net.Conn) {
	for _, c := range conns {
		_ = c.Close()
	}
}

// flow moves the bytes of one connection and gives how many arrived.
func (b *benchRun) flow(ctx context.Context, conn net.Conn) (uint64, error) {
	if b.direction == ctl.Receiving {
		return drain(conn, &b.moved)
	}
	if _, err := sendFor(ctx, conn, b.length, &b.moved); err != nil {
		return 0, err
	}
	var count [8]byte
	if _, err := io.ReadFull(conn, count[:]); err != nil {
		return 0, fmt.Errorf("the peer's count: %w", err)
	}
	return binary.LittleEndian.Uint64(count[:]), nil
}

// tell reports progress once a second until done is called, which waits.
func (b *benchRun) tell(begin time.Time) (done func()) {
	if b.progress == nil {
		return func() {}
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	report := func() {
		s := time.Since(begin).Seconds()
		b.progress(ctl.BenchProgress{Direction: b.direction, Flows: b.flows, Seconds: s, BPS: uint64(float64(b.moved.Load()) * 8 / s)})
	}
	go func() {
		defer close(stopped)
		t := time.NewTicker(time.Second)
		defer t.Stop()
		report()
		for {
			select {
			case <-t.C:
				report()
			case <-stop:
				return
			}
		}
	}()
	return func() {
		close(stop)
		<-stopped
	}
}
