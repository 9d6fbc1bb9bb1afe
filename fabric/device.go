// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"errors"
	"sync"

	"github.com/tbnet2/tbnet2/rail"
	"github.com/tbnet2/tbnet2/transport"
	"github.com/tbnet2/tbnet2/wire"
)

// recvBatch is how many frames one Recv takes at most.
const recvBatch = 64

// device is a rail device in use. It may carry rails to several peers.
type device struct {
	fabric *Fabric
	dev    rail.Device
	opt    RailOptions
	id     int // the handshake's

	enabled bool // guarded by Fabric.mu: taken up by the user

	sendMu  sync.Mutex // one Send at a time
	tx      []rail.TxFrame
	parts   [][]byte
	blockMu sync.Mutex
	blocked bool // somebody waits for room

	quit chan struct{}
	done sync.WaitGroup
}

func newDevice(f *Fabric, dev rail.Device, o RailOptions) *device {
	return &device{fabric: f, dev: dev, opt: o, enabled: true, quit: make(chan struct{})}
}

func (d *device) run() {
	d.done.Add(2)
	go d.receive()
	go d.follow()
}

// close stops the goroutines and closes the device.
func (d *device) close() error {
	close(d.quit)
	err := d.dev.Close()
	d.done.Wait()
	return err
}

// follow passes changes of the device on.
func (d *device) follow() {
	defer d.done.Done()
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
	if f.closed || f.byID[d.id] != d {
		return
	}
	info := d.dev.Info()
	f.handshake.SetDevice(f.now(), d.id, d.facts(info), info.Carrier, false)
	for _, p := range f.peers {
		p.deviceChanged(f.now(), d, info)
	}
	f.clock.wake()
}

// receive takes frames until the device closes.
func (d *device) receive() {
	defer d.done.Done()
	f := d.fabric
	frames := make([]rail.RxFrame, recvBatch)
	var in transport.Inbox
	for {
		n, err := d.dev.Recv(frames)
		if err != nil {
			if !errors.Is(err, rail.ErrClosed) {
				f.cfg.Log.Error("rail stops receiving; remove it and add it again", "rail", d.opt.Name, "err", err)
			}
			return
		}
		now := f.now()
		for batch := frames[:n]; len(batch) > 0; {
			batch = batch[d.dispatch(now, batch, &in):]
		}
	}
}

// dispatch handles the first frames of a batch that are for one peer, or one
// handshake frame, and gives how many that were.
func (d *device) dispatch(now transport.Time, batch []rail.RxFrame, in *transport.Inbox) int {
	f := d.fabric
	index, control, ok := peek(batch[0].Data)
	switch {
	case !ok:
		f.drops.malformed.Add(1)
		return 1
	case control:
		f.receiveHandshake(now, d, &batch[0])
		return 1
	}
	p := (*f.table.Load())[index]
	if p == nil {
		f.drops.unknownIndex.Add(1)
		f.answerUnknown(now, d, batch[0].From, index)
		return 1
	}
	n := 1
	for n < len(batch) {
		next, control, ok := peek(batch[n].Data)
		if !ok || control || next != index || batch[n].From != batch[0].From {
			break
		}
		n++
	}
	id, ok := p.railOf(d, batch[0].From)
	if !ok {
		f.drops.noRail.Add(uint64(n))
		return n
	}
	p.receive(now, id, batch[:n], in)
	return n
}

// peek reads the index of a frame, and whether it belongs to the handshake.
func peek(frame []byte) (index uint32, control, ok bool) {
	if len(frame) < wire.HeaderLen || frame[0]>>4 != wire.Version {
		return 0, false, false
	}
	index = uint32(frame[4]) | uint32(frame[5])<<8 | uint32(frame[6])<<16 | uint32(frame[7])<<24
	return index, wire.Type(frame[0]&0x0f) <= wire.TypeReset, true
}

// send gives frames of one rail to the device and returns how many it took.
func (d *device) send(to rail.MAC, frames []transport.Frame) int {
	d.sendMu.Lock()
	defer d.sendMu.Unlock()
	d.tx, d.parts = d.tx[:0], d.parts[:0]
	need := 0
	for i := range frames {
		if p := frames[i].Packet; p != nil {
			need += len(p.Parts)
		}
	}
	if cap(d.parts) < need {
		d.parts = make([][]byte, 0, 2*need)
	}
	for i := range frames {
		first := len(d.parts)
		d.parts = frames[i].Body(d.parts)
		d.tx = append(d.tx, rail.TxFrame{To: to, Head: frames[i].Head, Body: d.parts[first:len(d.parts):len(d.parts)]})
	}
	n, err := d.dev.Send(d.tx)
	clear(d.parts)
	switch {
	case err == nil || errors.Is(err, rail.ErrClosed):
		return len(frames) // what a closed device drops is resent when its rail goes
	case errors.Is(err, rail.ErrAgain):
		return n
	}
	d.fabric.cfg.Log.Warn("rail cannot send", "rail", d.opt.Name, "err", err)
	return n
}

// sendOne sends a handshake frame; it is repeated if it is lost.
func (d *device) sendOne(to rail.MAC, frame []byte) {
	d.sendMu.Lock()
	defer d.sendMu.Unlock()
	_, _ = d.dev.Send([]rail.TxFrame{{To: to, Head: frame}})
}

// awaitRoom has the rails of the device told when it takes frames again.
func (d *device) awaitRoom() {
	d.blockMu.Lock()
	defer d.blockMu.Unlock()
	if d.blocked {
		return
	}
	d.blocked = true
	d.done.Add(1)
	go func() {
		defer d.done.Done()
		err := d.dev.WaitSend()
		d.blockMu.Lock()
		d.blocked = false
		d.blockMu.Unlock()
		if err == nil {
			d.fabric.writable(d)
		}
	}()
}

// writable lets the rails of a device send again.
func (f *Fabric) writable(d *device) {
	for _, p := range *f.table.Load() {
		p.writable(d)
	}
}
