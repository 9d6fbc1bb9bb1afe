// SPDX-License-Identifier: Apache-2.0

package packet

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/tbnet2/tbnet2/rail"
	"github.com/tbnet2/tbnet2/wire"
)

const etherType = wire.EtherType

var helloMAC = wire.HelloMAC

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

// Device is a rail device on an Ethernet device. When that is removed, the
// rail has lost its carrier for good: Recv waits and sends are lost until
// Close.
type Device struct {
	name     string
	ifindex  int
	endpoint uint8
	group    uint64
	ns       netns.NsHandle // a duplicate of ours: reopening needs it

	tx     *sender
	refuse refusal     // Send's and WaitSend's
	newMAC atomic.Bool // Send looks at Info for the address

	rxMu    sync.Mutex           // held by Recv, and by what closes the ring
	rx      atomic.Pointer[ring] // replaced by Recv only
	rebuild atomic.Bool          // the MTU has changed: Recv opens a new ring
	wait    func(uintptr) bool

	closed  atomic.Bool
	carrier atomic.Bool // info's, for Send
	stop    chan struct{}
	done    sync.WaitGroup
	changed chan struct{}

	infoMu sync.Mutex
	info   rail.Info

	txFrames, txBytes, txBusy, txErrors    atomic.Uint64
	rxFrames, rxBytes, rxDropped, rxErrors atomic.Uint64
}

var _ rail.Device = (*Device)(nil)

// Open opens a device. The calling thread's namespace is unchanged after it.
// It needs CAP_NET_RAW in the device's namespace.
func Open(c Config) (*Device, error) {
	d := &Device{name: c.Interface, endpoint: c.Endpoint, group: c.Group, ns: -1,
		stop: make(chan struct{}), changed: make(chan struct{}, 1)}
	d.refuse.init(d)
	d.wait = func(uintptr) bool { return d.rx.Load().ready() || d.rebuild.Load() || d.closed.Load() }
	if err := d.open(c); err != nil {
		d.release()
		return nil, &rail.OpError{Op: "open", Device: c.Interface, Err: err}
	}
	return d, nil
}

func (d *Device) open(c Config) (err error) {
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
	a := link.Attrs()
	if a.EncapType != "ether" || len(a.HardwareAddr) != 6 {
		return fmt.Errorf("it is no Ethernet device but %q", a.EncapType)
	}
	d.ifindex = a.Index
	d.see(a)
	return inNetNS(d.ns, func() error {
		if d.tx, err = openSender(d.ifindex, d.Info().MAC, c.Bypass); err != nil {
			return err
		}
		d.learnSpeed()
		if a.NumTxQueues > 1 {
			if d.tx.pin, err = newPin(d.ifindex); err != nil {
				return fmt.Errorf("pin to one of %d transmit queues: %w", a.NumTxQueues, err)
			}
		}
		if err := d.openRing(); err != nil {
			return err
		}
		return d.watch()
	})
}

// openRing makes a receive ring for the present MTU. Only Recv replaces one;
// the thread is in the device's namespace.
func (d *Device) openRing() error {
	mtu := d.Info().MTU
	r, err := openRing(d.ifindex, mtu, d.endpoint)
	if err != nil {
		return err
	}
	old := d.rx.Swap(r)
	d.infoMu.Lock()
	d.info.Ring = len(r.slots) * mtu
	d.infoMu.Unlock()
	if old != nil {
		d.rxDropped.Add(old.dropped() + uint64(old.waiting()))
		old.close()
	}
	return nil
}

// Info implements rail.Device.
func (d *Device) Info() rail.Info {
	d.infoMu.Lock()
	defer d.infoMu.Unlock()
	return d.info
}

// Changed implements rail.Device.
func (d *Device) Changed() <-chan struct{} { return d.changed }

// tell has the reader of Changed look again.
func (d *Device) tell() {
	select {
	case d.changed <- struct{}{}:
	default: // a value is waiting already
	}
}

// Stats implements rail.Device.
func (d *Device) Stats() rail.Stats {
	d.rxDropped.Add(d.rx.Load().dropped())
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
	d.done.Wait()
	d.rx.Load().interrupt()
	d.rxMu.Lock() // Recv has left
	defer d.rxMu.Unlock()
	if r := d.rx.Load(); r.held == 0 {
		d.closeRing(r)
	} // else the reader still has frames of the ring, and its next Recv closes it
	_ = d.ns.Close()
	return nil
}

// closeRing closes and unmaps the ring. rxMu is held.
func (d *Device) closeRing(r *ring) {
	d.rxDropped.Add(r.dropped())
	r.close()
}

// release frees what a failed open has made.
func (d *Device) release() {
	if r := d.rx.Load(); r != nil {
		r.close()
	}
	if d.tx != nil {
		_ = d.tx.file.Close()
	}
	if d.ns >= 0 {
		_ = d.ns.Close()
	}
}
