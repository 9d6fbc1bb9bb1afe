// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/tbnet2/tbnet2/fabric"
)

// ErrClosed is what Err gives after Close.
var ErrClosed = errors.New("tap: closed")

// Device is an open TAP netdev. Its methods are safe for use by several
// goroutines.
type Device struct {
	cfg  Config
	file *os.File
	conn syscall.RawConn

	linkMu sync.Mutex
	link   *link         // guarded by linkMu
	rest   time.Duration // sizesRest, but for tests

	count counters

	mu       sync.Mutex
	attached bool  // guarded by mu
	err      error // guarded by mu; why the device works no more

	closing  chan struct{} // closed when the device is to stop
	stopOnce sync.Once
	tasks    sync.WaitGroup
	carrier  atomic.Bool
}

// newDevice takes ownership of file and l.
func newDevice(c Config, file *os.File, l *link) (*Device, error) {
	conn, err := file.SyscallConn()
	if err != nil {
		file.Close()
		return nil, err
	}
	return &Device{cfg: c, file: file, conn: conn, link: l, rest: sizesRest, closing: make(chan struct{})}, nil
}

// Name is the name the device was opened with.
func (d *Device) Name() string { return d.cfg.Name }

// Index is the device's ifindex.
func (d *Device) Index() int { return d.link.ref.Index }

// Interface looks the device up in the calling thread's network namespace.
func (d *Device) Interface() (*net.Interface, error) { return net.InterfaceByIndex(d.Index()) }

// Carrier tells whether the device has carrier: whether the port has peers.
func (d *Device) Carrier() bool { return d.carrier.Load() }

// Attach joins the device to the port, once, and starts to carry frames. MTU,
// gso_max_size and carrier follow the port from then on. The port stays the caller's.
func (d *Device) Attach(port fabric.Port) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.err != nil:
		return d.err
	case d.attached:
		return fmt.Errorf("tap %s: already attached to a port", d.cfg.Name)
	}
	d.attached = true
	port.Handle(newReceiver(d, port).deliver)
	s := newSender(d, port)
	d.tasks.Go(func() { d.stop(s.run()) })
	d.tasks.Go(func() { d.follow(port) })
	return nil
}

// Done is closed when the device has stopped working: after Close, when the
// port was closed, or when somebody deleted the device. Err tells which.
func (d *Device) Done() <-chan struct{} { return d.closing }

// Err is nil until Done.
func (d *Device) Err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}

// stop ends the device's work. The first reason stays.
func (d *Device) stop(err error) {
	d.stopOnce.Do(func() {
		d.mu.Lock()
		d.err = err
		d.mu.Unlock()
		close(d.closing)
	})
}

// Close detaches from the netdev, which vanishes unless it is persistent. It
// is idempotent and waits for the device's goroutines; one that waits for a
// full port is woken by closing the fabric, so close that first. Frames that
// the port delivers later are dropped and counted.
func (d *Device) Close() error {
	d.stop(ErrClosed)
	err := d.file.Close()
	d.tasks.Wait()
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	d.linkMu.Lock()
	defer d.linkMu.Unlock()
	d.link.h.Close()
	return err
}

// sizesRest is how long the port's largest packet must stay the same before
// the netdev's sizes follow. Any packet crosses in the meantime, cut in a way that suits the
// rails less well; a rail that is measured anew changes it for milliseconds.
const sizesRest = time.Second

// follow keeps the netdev as the port is, until the device stops.
func (d *Device) follow(port fabric.Port) {
	changed := port.Changed()
	rest := time.NewTimer(d.rest)
	defer rest.Stop()
	for {
		d.warn(d.followCarrier(port))
		select {
		case _, open := <-changed:
			if !open {
				changed = nil // the port is closed; the sender will see it
			}
			rest.Reset(d.rest)
		case <-rest.C:
			d.warn(d.followSizes(port))
		case <-d.closing:
			_ = d.setCarrier(false) // fails after Close, when the kernel has done it
			d.carrier.Store(false)
			return
		}
	}
}

func (d *Device) warn(err error) {
	if err != nil {
		d.cfg.Log.Warn("netdev does not follow the fabric", "device", d.cfg.Name, "err", err)
	}
}

// followCarrier sets sizes before the carrier comes, so that they suit the first packet.
func (d *Device) followCarrier(port fabric.Port) error {
	up := port.Peers() > 0
	if up == d.carrier.Load() {
		return nil
	}
	var err error
	if up {
		err = d.followSizes(port)
	}
	return errors.Join(err, d.setCarrier(up))
}

func (d *Device) followSizes(port fabric.Port) error {
	if port.Peers() == 0 {
		return nil
	}
	d.linkMu.Lock()
	defer d.linkMu.Unlock()
	return d.link.fit(port.MaxPacket())
}

func (d *Device) setCarrier(on bool) error {
	if err := control(d.file, func(fd int) error { return setCarrier(fd, on) }); err != nil {
		return err
	}
	d.carrier.Store(on)
	return nil
}
