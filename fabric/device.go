// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tbnet2/tbnet2/rail"
	"github.com/tbnet2/tbnet2/transport"
	"github.com/tbnet2/tbnet2/wire"
)

const (
	recvBatch   = 64                    // frames that one Recv takes at most
	failurePace = 10 * time.Millisecond // between tries on a device that fails
)

// device is a rail device in use. It may carry rails to several peers.
type device struct {
	fabric *Fabric
	dev    rail.Device
	opt    RailOptions
	id     transport.DeviceID

	enabled bool // guarded by Fabric.mu: taken up by the user

	sendMu  sync.Mutex // one Send at a time; guards tx, parts and failing
	tx      []rail.TxFrame
	parts   [][]byte
	failing bool // the last Send failed for good; said once

	blockMu sync.Mutex // guards what follows
	blocked bool       // somebody waits for room
	closing bool

	failure atomic.Pointer[error] // why it no longer receives
	quit    chan struct{}
	done    sync.WaitGroup
}

func newDevice(f *Fabric, dev rail.Device, o RailOptions, id transport.DeviceID) *device {
	return &device{fabric: f, dev: dev, opt: o, id: id, enabled: true, quit: make(chan struct{})}
}

func (d *device) run() {
	d.done.Go(d.receive)
	d.done.Go(d.watch)
}

// attachment is what the handshake knows of the device. Fabric.mu is held.
func (d *device) attachment() transport.Attachment {
	i := d.dev.Info()
	return transport.Attachment{Name: d.opt.Name, MAC: i.MAC, MTU: i.MTU, Rate: i.Rate, Group: i.Group,
		Carrier: i.Carrier && d.enabled, CRC: !d.opt.NoCRC}
}

// close stops the goroutines and closes the device.
func (d *device) close() error {
	d.blockMu.Lock()
	d.closing = true
	d.blockMu.Unlock()
	close(d.quit)
	err := d.dev.Close()
	d.done.Wait()
	return err
}

// watch passes changes of the device on.
func (d *device) watch() {
	for {
		select {
		case <-d.dev.Changed():
			d.fabric.deviceChanged(d)
		case <-d.quit:
			return
		}
	}
}

// deviceChanged follows carrier, MTU and rate.
func (f *Fabric) deviceChanged(d *device) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.byID[d.id] != d {
		return
	}
	now := f.now()
	info := d.dev.Info()
	for _, p := range f.peers {
		p.deviceChanged(now, d, info)
	}
	f.handshake.SetDevice(now, d.id, d.attachment())
	f.settle()
}

// receive takes frames until the device closes.
func (d *device) receive() {
	f := d.fabric
	frames := make([]rail.RxFrame, recvBatch)
	var in transport.Inbox
	for {
		n, err := d.dev.Recv(frames)
		if err != nil {
			if !errors.Is(err, rail.ErrClosed) {
				d.failure.Store(&err)
				f.cfg.Log.Error("rail stops receiving; remove it and add it again", "rail", d.opt.Name, "err", err)
			}
			return
		}
		now := f.now()
		for batch := frames[:n]; len(batch) > 0; {
			batch = batch[d.dispatch(now, batch, &in):]
		}
		if n == len(frames) {
			runtime.Gosched() // a flooded rail must not hold up the others
		}
	}
}

// dispatch handles the first frames of a batch that are for one peer, or one
// other frame, and gives how many that were.
func (d *device) dispatch(now transport.Time, batch []rail.RxFrame, in *transport.Inbox) int {
	f := d.fabric
	index, kind := peek(batch[0].Data)
	switch kind {
	case frameMalformed:
		f.drops.malformed.Add(1)
		return 1
	case frameVersion:
		f.drops.version.Add(1)
		return 1
	case frameHandshake:
		f.receiveHandshake(now, d, &batch[0])
		return 1
	}
	n := 1
	for ; n < len(batch) && batch[n].From == batch[0].From; n++ {
		if next, kind := peek(batch[n].Data); kind != frameAssociation || next != index {
			break
		}
	}
	p := (*f.table.Load())[index]
	if p == nil {
		f.drops.unknownIndex.Add(uint64(n))
		f.answerUnknown(now, d, batch[0].From, index)
		return n
	}
	id, ok := p.railOf(d, batch[0].From)
	if !ok {
		f.drops.noRail.Add(uint64(n))
		return n
	}
	p.receive(now, id, batch[:n], in)
	return n
}

// frameKind is who a frame is for.
type frameKind uint8

const (
	frameAssociation frameKind = iota
	frameHandshake
	frameMalformed
	frameVersion // of another version, and nothing that names its host
)

// peek reads the index of a frame, and who it is for.
func peek(frame []byte) (index uint32, kind frameKind) {
	if len(frame) < wire.HeaderLen {
		return 0, frameMalformed
	}
	t := wire.Type(frame[0] & 0x0f)
	if frame[0]>>4 != wire.Version {
		if t == wire.TypeHello {
			return 0, frameHandshake
		}
		return 0, frameVersion
	}
	if t <= wire.TypeReset {
		return 0, frameHandshake
	}
	return uint32(frame[4]) | uint32(frame[5])<<8 | uint32(frame[6])<<16 | uint32(frame[7])<<24, frameAssociation
}

// send gives frames of one rail to the device and returns how many it took.
func (d *device) send(to rail.MAC, frames []transport.Frame) int {
	d.sendMu.Lock()
	defer d.sendMu.Unlock()
	d.prepare(to, frames)
	n, err := d.dev.Send(d.tx)
	clear(d.parts)
	switch {
	case err == nil:
		d.failing = false
		return n
	case errors.Is(err, rail.ErrClosed):
		return len(frames) // what a closed device drops is resent when its rail goes
	}
	failing := !errors.Is(err, rail.ErrAgain)
	if failing && !d.failing {
		d.fabric.cfg.Log.Warn("rail cannot send; trying on", "rail", d.opt.Name, "err", err)
	}
	d.failing = failing
	d.awaitRoom(failing)
	return n
}

// prepare lays frames out for the device, in memory that is kept.
func (d *device) prepare(to rail.MAC, frames []transport.Frame) {
	need := 0
	for i := range frames {
		if p := frames[i].Packet; p != nil {
			need += len(p.Parts)
		}
	}
	if cap(d.parts) < need {
		d.parts = make([][]byte, 0, 2*need) // full before slices of it are taken
	}
	d.tx, d.parts = d.tx[:0], d.parts[:0]
	for i := range frames {
		first := len(d.parts)
		d.parts = frames[i].Body(d.parts)
		d.tx = append(d.tx, rail.TxFrame{To: to, Head: frames[i].Head, Body: d.parts[first:len(d.parts):len(d.parts)]})
	}
}

// sendOne sends a handshake frame; it is repeated if it is lost.
func (d *device) sendOne(to rail.MAC, frame []byte) {
	d.sendMu.Lock()
	defer d.sendMu.Unlock()
	if n, _ := d.dev.Send([]rail.TxFrame{{To: to, Head: frame}}); n == 0 {
		d.fabric.drops.handshakeUnsent.Add(1)
	}
}

// awaitRoom has the rails of the device told when it takes frames again.
func (d *device) awaitRoom(failing bool) {
	d.blockMu.Lock()
	defer d.blockMu.Unlock()
	if d.blocked || d.closing {
		return
	}
	d.blocked = true
	d.done.Go(func() {
		if failing {
			d.pause()
		}
		err := d.dev.WaitSend()
		d.blockMu.Lock()
		d.blocked = false
		d.blockMu.Unlock()
		if err == nil {
			d.fabric.writable(d)
		}
	})
}

// pause waits a little before a device that fails is tried again.
func (d *device) pause() {
	t := time.NewTimer(failurePace)
	defer t.Stop()
	select {
	case <-t.C:
	case <-d.quit:
	}
}

// writable lets the rails of a device send again.
func (f *Fabric) writable(d *device) {
	for _, p := range *f.table.Load() {
		p.writable(d)
	}
}
