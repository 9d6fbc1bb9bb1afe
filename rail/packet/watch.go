// SPDX-License-Identifier: Apache-2.0

package packet

import (
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// lookEvery is how often the driver is asked whether it has a carrier. The
// kernel tells of a loss at once, but of the next one only a second later.
const lookEvery = 40 * time.Millisecond

// watch follows the device until Close.
func (d *Device) watch() error {
	updates, err := d.subscribe()
	if err != nil {
		return err
	}
	d.done.Add(1)
	go d.follow(updates)
	return nil
}

// subscribe asks for messages about links, the present state first.
func (d *Device) subscribe() (<-chan netlink.LinkUpdate, error) {
	updates := make(chan netlink.LinkUpdate, 16)
	err := netlink.LinkSubscribeWithOptions(updates, d.stop, netlink.LinkSubscribeOptions{
		Namespace: &d.ns, ListExisting: true, ErrorCallback: func(error) {}}) // the channel is closed then
	if err != nil {
		return nil, fmt.Errorf("watch links: %w", err)
	}
	return updates, nil
}

// follow takes messages until Close. When some were lost (the socket's buffer
// was full) it begins anew.
func (d *Device) follow(updates <-chan netlink.LinkUpdate) {
	defer d.done.Done()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case u, ok := <-updates:
			if !ok {
				updates = nil
			} else if int(u.Index) == d.ifindex {
				d.update(u)
			}
		case <-tick.C:
			if updates == nil {
				updates, _ = d.subscribe() // on failure again with the next tick
				d.refresh()
			}
			if d.hasLink() != d.carrier.Load() {
				d.refresh()
			}
		case <-d.stop:
			if updates != nil {
				for range updates { // until the subscription has ended
				}
			}
			return
		}
	}
}

// refresh asks for the device's state.
func (d *Device) refresh() {
	h, err := netlink.NewHandleAt(d.ns, unix.NETLINK_ROUTE)
	if err != nil {
		return // the next tick tries again
	}
	defer h.Close()
	link, err := h.LinkByIndex(d.ifindex)
	switch {
	case errors.As(err, new(netlink.LinkNotFoundError)):
		d.change(d.lose)
	case err == nil:
		d.change(func() { d.see(link.Attrs()) })
	}
}

// update takes one message about the device.
func (d *Device) update(u netlink.LinkUpdate) {
	if u.Header.Type == unix.RTM_DELLINK {
		d.change(d.lose)
		return
	}
	d.change(func() {
		d.see(u.Link.Attrs())
		d.learnSpeed()
	})
}

// change runs what may change Info, and tells who must know.
func (d *Device) change(f func()) {
	before := d.Info()
	f()
	after := d.Info()
	if before.MAC != after.MAC {
		d.newMAC.Store(true)
	}
	if before.MTU != after.MTU {
		d.rebuild.Store(true)
		d.rx.Load().interrupt()
	}
	if before != after {
		d.tell()
	}
}

// see takes a device's attributes.
func (d *Device) see(a *netlink.LinkAttrs) {
	d.infoMu.Lock()
	defer d.infoMu.Unlock()
	d.info.Name, d.info.MTU = d.name, min(a.MTU, mtuMost)
	copy(d.info.MAC[:], a.HardwareAddr)
	d.info.Carrier = a.RawFlags&unix.IFF_RUNNING != 0 && a.RawFlags&unix.IFF_LOWER_UP != 0
	d.carrier.Store(d.info.Carrier)
	d.info.Group = d.group
	if d.group == 0 {
		h := fnv.New64a()
		_, _ = h.Write(a.HardwareAddr)
		d.info.Group = h.Sum64()
	}
}

// lose notes that there is no carrier: the device does not exist any more.
func (d *Device) lose() {
	d.infoMu.Lock()
	defer d.infoMu.Unlock()
	d.info.Carrier = false
	d.carrier.Store(false)
}

// mtuMost is the longest frame that the wire format can tell, in bytes.
const mtuMost = 65535
