// SPDX-License-Identifier: Apache-2.0

package packet

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/tbnet2/tbnet2/rail"
	"github.com/tbnet2/tbnet2/wire"
)

const etherType = wire.EtherType

var helloMAC = wire.HelloMAC

// busyWait is how long WaitSend waits where the kernel does not tell when a
// device has room again (ENOBUFS).
const busyWait = 200 * time.Microsecond

// Config says which device to open.
type Config struct {
	// Interface is the name of an Ethernet device.
	Interface string
	// NetNS is an open network namespace, or 0: the calling thread's.
	NetNS int
	// Endpoint whose frames are received; see the protocol, section 1.
	Endpoint uint8
	// Bypass passes frames by the device's queueing discipline. It drops
	// where the device's queue is stopped and on a multi-queue device lets
	// frames overtake: only for devices of our own making, such as veth.
	Bypass bool
	// Group, if not 0, replaces the link group, which is the device's own.
	Group uint64
}

// Device is a rail device on an Ethernet device.
type Device struct {
	name     string
	ifindex  int
	endpoint uint8
	group    uint64
	ns       netns.NsHandle // -1: the opener's, which is kept too

	tx *sender

	rxMu   sync.Mutex // held by Recv, and by what replaces or closes the ring
	rx     *ring
	rxFile atomic.Pointer[os.File] // rx's, for who wakes Recv
	raw    rawConn
	wait   func(uintptr) bool

	rebuild atomic.Bool // the MTU has changed: Recv opens a new ring
	closed  atomic.Bool
	stop    chan struct{}
	done    sync.WaitGroup
	changed chan struct{}
	busy    atomic.Bool // the last refusal was an ENOBUFS

	infoMu sync.Mutex
	info   rail.Info
	gone   bool

	txFrames, txBytes, txBusy, txErrors             atomic.Uint64
	rxFrames, rxBytes, rxDropped, rxErrors, rxPause atomic.Uint64
}

// Open opens a device. The calling thread's namespace is unchanged after it.
func Open(c Config) (*Device, error) {
	d := &Device{name: c.Interface, endpoint: c.Endpoint, group: c.Group,
		stop: make(chan struct{}), changed: make(chan struct{}, 1)}
	if err := d.open(c); err != nil {
		d.release()
		return nil, &rail.OpError{Op: "open", Device: c.Interface, Err: err}
	}
	return d, nil
}

func (d *Device) open(c Config) (err error) {
	d.ns = -1
	if c.NetNS != 0 {
		fd, err := unix.FcntlInt(uintptr(c.NetNS), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return err
		}
		d.ns = netns.NsHandle(fd)
	} else if d.ns, err = netns.Get(); err != nil {
		return err
	}
	h, err := netlink.NewHandleAt(d.ns, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer h.Close()
	link, err := h.LinkByName(c.Interface)
	if err != nil {
		return err
	}
	if link.Attrs().EncapType != "ether" || len(link.Attrs().HardwareAddr) != 6 {
		return fmt.Errorf("it is no Ethernet device but %q", link.Attrs().EncapType)
	}
	d.ifindex = link.Attrs().Index
	d.see(link.Attrs())
	return inNetNS(d.ns, func() error { return d.openSockets(c) })
}

func (d *Device) openSockets(c Config) (err error) {
	d.learnSpeed()
	info := d.Info()
	if d.tx, err = openSender(d.ifindex, info.MAC, c.Bypass); err != nil {
		return err
	}
	if err := d.openRing(info.MTU); err != nil {
		return err
	}
	d.wait = func(uintptr) bool { return d.rx.ready() }
	return d.watch()
}

// openRing replaces the receive ring. rxMu is held, or nobody else is there.
func (d *Device) openRing(mtu int) error {
	r, err := openRing(d.ifindex, mtu, d.endpoint)
	if err != nil {
		return err
	}
	if d.rx != nil {
		d.rx.close()
	}
	d.rx = r
	d.rxFile.Store(r.file)
	d.raw, err = r.file.SyscallConn()
	d.infoMu.Lock()
	d.info.Ring = len(r.slots) * mtu
	d.infoMu.Unlock()
	return err
}

// Info implements rail.Device.
func (d *Device) Info() rail.Info {
	d.infoMu.Lock()
	defer d.infoMu.Unlock()
	return d.info
}

// Changed implements rail.Device.
func (d *Device) Changed() <-chan struct{} { return d.changed }

// Send implements rail.Device. A frame that the device cannot carry (too long,
// device down) counts as sent and lost, under TxErrors.
func (d *Device) Send(frames []rail.TxFrame) (n int, err error) {
	for n < len(frames) {
		if d.closed.Load() {
			return n, rail.ErrClosed
		}
		batch := frames[n:min(len(frames), n+sendBatch)]
		sent, errno, err := d.tx.send(batch)
		d.countSent(batch[:sent])
		n += sent
		switch {
		case err != nil:
			return n, err
		case errno == 0:
		case errno == unix.ENOBUFS || errno == unix.EAGAIN:
			d.busy.Store(errno == unix.ENOBUFS)
			d.txBusy.Add(1)
			return n, rail.ErrAgain
		case errno == unix.EMSGSIZE || errno == unix.ENETDOWN || errno == unix.ENXIO || errno == unix.ENODEV:
			d.txErrors.Add(1)
			n++
		default:
			return n, &rail.OpError{Op: "send", Device: d.name, Err: errno}
		}
	}
	return n, nil
}

func (d *Device) countSent(frames []rail.TxFrame) {
	bytes := 0
	for i := range frames {
		bytes += len(frames[i].Head)
		for _, part := range frames[i].Body {
			bytes += len(part)
		}
	}
	d.txFrames.Add(uint64(len(frames)))
	d.txBytes.Add(uint64(bytes))
}

// WaitSend implements rail.Device.
func (d *Device) WaitSend() error {
	if d.busy.Load() {
		t := time.NewTimer(busyWait)
		defer t.Stop()
		select {
		case <-t.C:
			return nil
		case <-d.stop:
			return rail.ErrClosed
		}
	}
	asked := false
	err := d.tx.raw.Write(func(uintptr) bool { // the first call only arms the wait
		was := asked
		asked = true
		return was
	})
	if d.closed.Load() || errors.Is(err, os.ErrClosed) {
		return rail.ErrClosed
	}
	return err
}

// Recv implements rail.Device.
func (d *Device) Recv(frames []rail.RxFrame) (n int, err error) {
	d.rxMu.Lock()
	defer d.rxMu.Unlock()
	for {
		if d.closed.Load() {
			d.closeRing()
			return 0, rail.ErrClosed
		}
		d.rx.release()
		if d.rebuild.Swap(false) {
			if err := d.reopen(); err != nil {
				return 0, &rail.OpError{Op: "reopen", Device: d.name, Err: err}
			}
		}
		n, bad := d.rx.take(frames)
		d.rxErrors.Add(uint64(bad))
		if n > 0 {
			d.countReceived(frames[:n])
			return n, nil
		}
		if bad > 0 {
			continue
		}
		if err := d.raw.Read(d.wait); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, os.ErrClosed) {
			return 0, &rail.OpError{Op: "recv", Device: d.name, Err: err}
		}
	}
}

func (d *Device) countReceived(frames []rail.RxFrame) {
	bytes := 0
	for i := range frames {
		bytes += len(frames[i].Data)
	}
	d.rxFrames.Add(uint64(len(frames)))
	d.rxBytes.Add(uint64(bytes))
}

// reopen makes a ring for the present MTU. Recv holds rxMu.
func (d *Device) reopen() error {
	d.addDropped()
	return inNetNS(d.ns, func() error { return d.openRing(d.Info().MTU) })
}

// wake makes a waiting Recv look around. The ring's file may be replaced
// meanwhile; then Recv is awake already.
func (d *Device) wake() { _ = d.rxFile.Load().SetReadDeadline(time.Unix(1, 0)) }

// addDropped takes the kernel's count of frames that found no slot; reading
// clears it.
func (d *Device) addDropped() {
	raw, err := d.rxFile.Load().SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		if st, err := unix.GetsockoptTpacketStats(int(fd), unix.SOL_PACKET, unix.PACKET_STATISTICS); err == nil {
			d.rxDropped.Add(uint64(st.Drops))
		}
	})
}

// Stats implements rail.Device.
func (d *Device) Stats() rail.Stats {
	if !d.closed.Load() {
		d.addDropped()
	}
	return rail.Stats{
		TxFrames: d.txFrames.Load(), TxBytes: d.txBytes.Load(), TxBusy: d.txBusy.Load(), TxErrors: d.txErrors.Load(),
		RxFrames: d.rxFrames.Load(), RxBytes: d.rxBytes.Load(), RxDropped: d.rxDropped.Load(), RxErrors: d.rxErrors.Load(),
	}
}

// Close implements rail.Device.
func (d *Device) Close() error {
	if d.closed.Swap(true) {
		return nil
	}
	close(d.stop)
	_ = d.tx.file.Close()
	d.wake()
	d.done.Wait()
	d.rxMu.Lock() // Recv has left
	defer d.rxMu.Unlock()
	if d.rx.held == 0 {
		d.closeRing()
	} // else the reader still has frames of the ring, and its next Recv closes it
	if d.ns > 0 {
		_ = d.ns.Close()
	}
	return nil
}

// closeRing closes and unmaps the ring, once. rxMu is held.
func (d *Device) closeRing() {
	if d.rx.mem == nil {
		return
	}
	d.addDropped()
	d.rx.close()
}

// release frees what a failed open has made.
func (d *Device) release() {
	if d.rx != nil {
		d.rx.close()
	}
	if d.tx != nil {
		_ = d.tx.file.Close()
	}
	if d.ns > 0 {
		_ = d.ns.Close()
	}
}
