// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/tbnet2/tbnet2/fabric"
	"github.com/tbnet2/tbnet2/verbs/wire"
	frames "github.com/tbnet2/tbnet2/wire"
)

// Limits are quotas of a device; 0 takes the default.
type Limits struct {
	MRs     int    // 65536
	Bytes   uint64 // registered in all: 1 TiB
	QPs     int    // 4096
	CQs     int    // 4096
	WRs     int    // of one queue: 16384
	SGEs    int    // of one request: 32
	Inline  int    // bytes of inline data: 1024
	Reads   int    // READs and atomics a queue pair may have under way: 16
	Entries int    // of one CQ: 1 << 20
}

func (l Limits) withDefaults() Limits {
	return Limits{cmp.Or(l.MRs, 1<<16), cmp.Or(l.Bytes, 1<<40), cmp.Or(l.QPs, 4096), cmp.Or(l.CQs, 4096),
		cmp.Or(l.WRs, 16384), cmp.Or(l.SGEs, 32), cmp.Or(l.Inline, 1024), cmp.Or(l.Reads, 16), cmp.Or(l.Entries, 1<<20)}
}

// Config says what a device stands on.
type Config struct {
	Fabric fabric.Config // Service and OnPeer are set by Open
	Limits Limits
}

// Drops are packets that a device took no notice of.
type Drops struct {
	Malformed, NoQP, WrongPeer, Window, Contradiction, NoReceive, Stale uint64
}

// Device is one RDMA device with one port, over all rails of a fabric.
type Device struct {
	fabric *fabric.Fabric
	limits Limits
	gid    GID
	done   sync.WaitGroup
	quit   chan struct{}

	peersMu sync.Mutex // a leaf: guards peers, which OnPeer adds to
	peers   map[GID]*peer

	mu     sync.Mutex // guards what follows and all objects of the device
	closed bool
	keys   map[uint32]*MR // local and remote keys
	mrs    int
	bytes  uint64
	qps    map[uint32]*QP
	cqs    int
	pds    int
	drops  Drops
	active int // peers that can be reached
	events chan Event
}

// Open makes a device. It owns a fabric of its own: give it rails by
// Fabric().AddRail.
func Open(cfg Config) (*Device, error) {
	d := &Device{limits: cfg.Limits.withDefaults(), gid: HostGID(cfg.Fabric.Host), quit: make(chan struct{}),
		peers: map[GID]*peer{}, keys: map[uint32]*MR{}, qps: map[uint32]*QP{}, events: make(chan Event, eventsKept)}
	cfg.Fabric.Service = frames.ServiceVerbs
	cfg.Fabric.OnPeer = d.onPeer
	f, err := fabric.New(cfg.Fabric)
	if err != nil {
		return nil, fmt.Errorf("verbs: %w", err)
	}
	d.fabric = f
	return d, nil
}

// Fabric is what the device stands on; Close closes it.
func (d *Device) Fabric() *fabric.Fabric { return d.fabric }

// GID is the address of the device's port.
func (d *Device) GID() GID { return d.gid }

// Limits are the device's quotas.
func (d *Device) Limits() Limits { return d.limits }

// Events gives asynchronous events; closed by Close. Who does not read loses
// the newest beyond 256.
func (d *Device) Events() <-chan Event { return d.events }

// Drops tells what was dropped so far.
func (d *Device) Drops() Drops {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.drops
}

// PortActive reports whether some peer can be reached.
func (d *Device) PortActive() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.active > 0
}

// Close flushes all queue pairs, closes the fabric and awaits all goroutines.
// It is idempotent.
func (d *Device) Close() error {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		d.done.Wait()
		return nil
	}
	for _, q := range d.qps {
		q.fail()
		q.stopTimers()
	}
	d.closed = true
	close(d.quit)
	close(d.events)
	d.mu.Unlock()
	err := d.fabric.Close()
	d.done.Wait()
	return err
}

// emit tells of an event. mu is held.
func (d *Device) emit(e Event) {
	if d.closed {
		return
	}
	select {
	case d.events <- e:
	default:
	}
}

// onPeer implements fabric.Config.OnPeer.
func (d *Device) onPeer(info fabric.PeerInfo, port fabric.Port) {
	d.peersMu.Lock()
	defer d.peersMu.Unlock()
	gid := HostGID(info.Host)
	if d.peers[gid] != nil {
		d.peers[gid].reset.Store(true)
		return // the same port again
	}
	p := newPeer(d, gid, port)
	d.peers[gid] = p
	port.Handle(p.receive)
	d.done.Go(p.run)
}

// findPeer gives the peer with an address, nil if there was none yet.
func (d *Device) findPeer(g GID) *peer {
	d.peersMu.Lock()
	defer d.peersMu.Unlock()
	return d.peers[g]
}

// follow counts the peers that can be reached and tells of the port. mu is held.
func (d *Device) follow(delta int) {
	was := d.active
	d.active += delta
	switch {
	case was == 0 && d.active > 0:
		d.emit(Event{Kind: EventPortActive})
	case was > 0 && d.active == 0:
		d.emit(Event{Kind: EventPortError})
	}
}

// draw gives a random number below limit that taken does not have, not 0 or 1
// (QP0 and QP1 have a meaning of their own).
func draw(limit uint64, taken func(uint32) bool) uint32 {
	for {
		var b [8]byte
		_, _ = rand.Read(b[:]) // never fails
		n := uint32(binary.LittleEndian.Uint64(b[:]) % limit)
		if n > 1 && !taken(n) {
			return n
		}
	}
}

// drawQPN gives a free queue pair number. mu is held.
func (d *Device) drawQPN() uint32 {
	return draw(wire.QPNMax, func(n uint32) bool { return d.qps[n] != nil })
}

// drawKey gives a free key. mu is held.
func (d *Device) drawKey() uint32 {
	return draw(1<<32, func(n uint32) bool { return d.keys[n] != nil })
}

// PD is a protection domain.
type PD struct {
	device *Device
	users  int // MRs, QPs, SRQs and AHs
}

// AllocPD makes a protection domain.
func (d *Device) AllocPD() (*PD, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, ErrClosed
	}
	d.pds++
	return &PD{device: d}, nil
}

// Dealloc ends the domain; ErrBusy while something is in it.
func (p *PD) Dealloc() error {
	p.device.mu.Lock()
	defer p.device.mu.Unlock()
	if p.users > 0 {
		return ErrBusy
	}
	p.device.pds--
	return nil
}

// AH is the address of a host, for datagrams.
type AH struct {
	pd   *PD
	peer *peer
}

// CreateAH makes an address handle; ErrNoPeer if the host was never met.
func (p *PD) CreateAH(to GID) (*AH, error) {
	peer := p.device.findPeer(to)
	if peer == nil {
		return nil, ErrNoPeer
	}
	p.device.mu.Lock()
	defer p.device.mu.Unlock()
	p.users++
	return &AH{pd: p, peer: peer}, nil
}

// Destroy ends the handle.
func (a *AH) Destroy() {
	a.pd.device.mu.Lock()
	defer a.pd.device.mu.Unlock()
	if a.peer != nil {
		a.peer = nil
		a.pd.users--
	}
}
