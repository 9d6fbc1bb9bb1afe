// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/tbnet2/tbnet2/lab"
	"github.com/tbnet2/tbnet2/userstack"
)

// port is where the receiver listens.
const port = 7000

// block is what one write or read takes, bytes.
const block = 256 << 10

// Progress is told several times a second, and at each step.
type Progress struct {
	Step  string // what has just happened, or ""
	Done  uint64
	Total uint64
	Rails []RailRate
}

// RailRate is what a rail carries at the moment.
type RailRate struct {
	Name  string
	State string
	Bits  float64 // per second, headers included
}

// run is a demo under way.
type run struct {
	plan  Plan
	tell  func(Progress)
	lab   *lab.Lab
	a, b  *host
	got   atomic.Uint64 // bytes received
	meter meter
}

// Run does what the plan says. tell is called by one goroutine at a time.
func Run(ctx context.Context, p Plan, tell func(Progress)) (r Report, err error) {
	if err := p.check(); err != nil {
		return Report{}, err
	}
	d := &run{plan: p, tell: tell}
	if d.lab, err = lab.New(ctx, p.topology(), p.Mode); err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	tell(Progress{Step: fmt.Sprintf("two hosts, %d cables, mode %s, uid %d (simulated cables)", len(p.Cables), p.Mode, os.Getuid())})
	if err := d.start(ctx); err != nil {
		return Report{}, err
	}
	return d.transfer(ctx)
}

func (d *run) close() error {
	var errs []error
	for _, h := range []*host{d.a, d.b} {
		if h != nil {
			errs = append(errs, h.close())
		}
	}
	return errors.Join(append(errs, d.lab.Close())...)
}

// start brings up both hosts and all rails.
func (d *run) start(ctx context.Context) (err error) {
	if d.a, err = newHost(d.lab.Host("a")); err != nil {
		return err
	}
	if d.b, err = newHost(d.lab.Host("b")); err != nil {
		return err
	}
	rails := 0
	for _, c := range d.plan.Cables {
		rails += c.Rails
	}
	for _, h := range []*host{d.a, d.b} {
		if err := h.ready(ctx, rails); err != nil {
			return err
		}
	}
	d.tell(Progress{Step: fmt.Sprintf("%d rails up, %.0f Mb/s together", rails, float64(d.plan.rate())/1e6)})
	return nil
}

// connect opens the one TCP connection, from a to b.
func (d *run) connect(ctx context.Context) (from, to net.Conn, err error) {
	l, err := d.b.stack.Listen("tcp", ":"+strconv.Itoa(port))
	if err != nil {
		return nil, nil, err
	}
	defer l.Close()
	at := netip.AddrPortFrom(userstack.LinkLocal4(d.lab.Host("b").UUID()), port)
	if from, err = d.a.stack.DialContext(ctx, "tcp", at.String()); err != nil {
		return nil, nil, err
	}
	if to, err = l.Accept(); err != nil {
		return nil, nil, errors.Join(err, from.Close())
	}
	return from, to, nil
}

// transfer sends, pulls and plugs the cable, and reports.
func (d *run) transfer(ctx context.Context) (Report, error) {
	from, to, err := d.connect(ctx)
	if err != nil {
		return Report{}, err
	}
	stop := context.AfterFunc(ctx, func() { _, _ = from.Close(), to.Close() })
	defer stop()
	sent, received, errs := newDigest(), newDigest(), make(chan error, 3)
	d.meter.begin(d)
	watched := make(chan struct{})
	quit := make(chan struct{})
	go func() {
		defer close(watched)
		d.watch(quit)
	}()
	go func() { errs <- d.pull(ctx, quit) }()
	go func() { errs <- d.send(from, sent) }()
	err = d.receive(to, received)
	if err != nil { // nobody reads any more
		_ = from.Close()
	}
	close(quit)
	err = errors.Join(err, <-errs, <-errs)
	<-watched
	_, _ = from.Close(), to.Close()
	if err != nil {
		return Report{}, errors.Join(ctx.Err(), err)
	}
	return d.report(hex.EncodeToString(sent.Sum(nil)), hex.EncodeToString(received.Sum(nil))), nil
}

// send writes the bytes of a stream that does not repeat.
func (d *run) send(c net.Conn, sum io.Writer) error {
	random := rand.NewChaCha8([32]byte{'d', 'e', 'm', 'o'})
	buf := make([]byte, block)
	for left := d.plan.Bytes; left > 0; {
		b := buf[:min(left, block)]
		_, _ = random.Read(b) // never fails
		_, _ = sum.Write(b)   // neither does a hash
		if _, err := c.Write(b); err != nil {
			return fmt.Errorf("send: %w", err)
		}
		left -= uint64(len(b))
	}
	return nil
}

// receive reads all bytes and notes the longest time without one.
func (d *run) receive(c net.Conn, sum io.Writer) error {
	buf := make([]byte, block)
	for d.got.Load() < d.plan.Bytes {
		n, err := c.Read(buf)
		_, _ = sum.Write(buf[:n])
		d.meter.arrived(d.got.Add(uint64(n)))
		if err != nil {
			return fmt.Errorf("receive: %w after %d bytes", err, d.got.Load())
		}
	}
	return nil
}

// pull takes a cable away half-way and puts it back.
func (d *run) pull(ctx context.Context, quit <-chan struct{}) error {
	select {
	case <-d.meter.atHalf():
	case <-quit:
		return nil // receive has failed and says why
	}
	d.meter.pulled()
	if err := d.lab.Unplug(d.plan.Pull); err != nil {
		return err
	}
	d.tell(Progress{Step: d.plan.Pull + " pulled"})
	select {
	case <-time.After(d.plan.Away):
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := d.lab.Plug(d.plan.Pull); err != nil {
		return err
	}
	d.meter.plugged()
	d.tell(Progress{Step: d.plan.Pull + " put back"})
	return nil
}
