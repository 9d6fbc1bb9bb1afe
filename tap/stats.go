// SPDX-License-Identifier: Apache-2.0

package tap

import "sync/atomic"

// Stats are totals since Open. Tx is from this host into the fabric, Rx from
// it; bytes count Ethernet frames.
type Stats struct {
	TxPackets, TxBytes uint64
	TxSuper            uint64 // superpackets among TxPackets
	TxFull             uint64 // times a full port stopped the reading
	TxNoSlot           uint64 // times reading waited for a packet in flight to be done
	TxRefused          uint64 // dropped: the port took no such packet
	TxShort            uint64 // dropped: the kernel gave less than an Ethernet header
	TxRingFull         uint64 // dropped by the kernel before we could read them

	RxPackets, RxBytes uint64
	RxSuper            uint64 // superpackets among RxPackets
	RxShort            uint64 // dropped: less than an Ethernet header
	RxBadOffload       uint64 // dropped: the descriptor does not fit the frame
	RxBusy             uint64 // dropped: the kernel had no memory for it
	RxDown             uint64 // dropped: the netdev was set down
	RxErrors           uint64 // dropped: any other error of the kernel
	RxClosed           uint64 // dropped: it came after Close
}

type counter struct{ atomic.Uint64 }

func (c *counter) inc() { c.Add(1) }

type counters struct {
	txPackets, txBytes, txSuper, txFull, txNoSlot, txRefused, txShort                      counter
	rxPackets, rxBytes, rxSuper, rxShort, rxBadOffload, rxBusy, rxDown, rxErrors, rxClosed counter
}

// Stats reads the counters, and the kernel's own.
func (d *Device) Stats() Stats {
	c := &d.count
	s := Stats{
		TxPackets: c.txPackets.Load(), TxBytes: c.txBytes.Load(), TxSuper: c.txSuper.Load(),
		TxFull: c.txFull.Load(), TxNoSlot: c.txNoSlot.Load(), TxRefused: c.txRefused.Load(), TxShort: c.txShort.Load(),
		RxPackets: c.rxPackets.Load(), RxBytes: c.rxBytes.Load(), RxSuper: c.rxSuper.Load(),
		RxShort: c.rxShort.Load(), RxBadOffload: c.rxBadOffload.Load(), RxBusy: c.rxBusy.Load(),
		RxDown: c.rxDown.Load(), RxErrors: c.rxErrors.Load(), RxClosed: c.rxClosed.Load(),
	}
	d.linkMu.Lock()
	defer d.linkMu.Unlock()
	s.TxRingFull = d.link.dropped()
	return s
}
