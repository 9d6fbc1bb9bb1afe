// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tbnet2/tbnet2/rail"
	"github.com/tbnet2/tbnet2/transport"
	"github.com/tbnet2/tbnet2/wire"
)

// Fabric is one speaker on a host: its devices, its peers, its port. All
// methods may be called from any goroutine but a Port's handler.
type Fabric struct {
	cfg   Config
	start time.Time
	mem   memory
	port  *port                            // of all peers without one of their own
	table atomic.Pointer[map[uint32]*peer] // by our index; replaced whole

	mu        sync.Mutex // guards what follows
	handshake *transport.Handshake
	output    transport.HandshakeOutput // scratch of settle
	devices   map[string]*device
	byID      [wire.RailsMax]*device
	peers     map[transport.PeerID]*peer
	ports     map[transport.PeerID]*port // of single peers
	awaited   map[string]*port           // of peers to come, by the name that was asked for
	choices   choices
	closed    bool

	clock  clock       // of the handshake
	heard  atomic.Bool // some peer's heard has changed
	events events
	done   sync.WaitGroup

	drops dropCounts
	past  transport.ReceiveStats // sums of associations that have ended; guarded by mu
}

// dropCounts are frames that reached no association.
type dropCounts struct {
	malformed, version, unknownIndex, noRail, ended, handshakeUnsent atomic.Uint64
}

// New makes a fabric without rails: peers come when rails do.
func New(cfg Config) (*Fabric, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	f := &Fabric{cfg: cfg, start: time.Now(), clock: newClock(), devices: map[string]*device{},
		peers: map[transport.PeerID]*peer{}, ports: map[transport.PeerID]*port{}, awaited: map[string]*port{}}
	f.choices.byPeer = map[transport.PeerID][]RailChoice{}
	f.mem.most = heldMost(cfg.Window)
	f.handshake = transport.NewHandshake(cfg.handshake(), f.now())
	f.table.Store(&map[uint32]*peer{})
	f.port = newPort(f)
	f.done.Go(func() { f.clock.run(f.now, f.tick) })
	return f, nil
}

// now is the fabric's clock.
func (f *Fabric) now() transport.Time { return transport.Time(time.Since(f.start)) }

// Config gives the configuration with its defaults filled in.
func (f *Fabric) Config() Config { return f.cfg }

// tick does what the handshake's time asks, and gives its next deadline.
func (f *Fabric) tick() transport.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return transport.Never
	}
	now := f.now()
	if f.heard.Swap(false) {
		for _, p := range f.peers {
			p.tellHeard(now)
		}
	}
	f.handshake.Tick(now)
	f.obey()
	return f.handshake.Deadline()
}

// Port is the Ethernet face over all peers.
func (f *Fabric) Port() Port { return f.port }

// PortTo gives a port to one peer alone, named as in SetRails; Port no longer
// carries that peer's packets then, also after the peer has restarted. A host
// name or UUID that no peer has yet stands for the first that comes with it.
func (f *Fabric) PortTo(name string) (Port, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, ErrClosed
	}
	p, err := f.findOne(name)
	switch {
	case errors.Is(err, ErrNoPeer) && name != "":
		return f.awaitPeer(name), nil
	case err != nil:
		return nil, err
	}
	if f.ports[p.id] == nil {
		own := newPort(f)
		f.ports[p.id] = own
		p.moveTo(own)
	}
	return f.ports[p.id], nil
}

// awaitPeer gives the port of a peer to come.
func (f *Fabric) awaitPeer(name string) *port {
	if f.awaited[name] == nil {
		f.awaited[name] = newPort(f)
	}
	return f.awaited[name]
}

// portFor is the port that a peer's packets go to. Fabric.mu is held.
func (f *Fabric) portFor(p *peer) *port {
	if f.cfg.OnPeer != nil {
		if f.ports[p.id] == nil {
			f.ports[p.id] = newPort(f)
		}
		f.cfg.OnPeer(PeerInfo{Host: p.host, Endpoint: p.id.Endpoint, Name: p.name}, f.ports[p.id])
		return f.ports[p.id]
	}
	if own := f.ports[p.id]; own != nil {
		return own
	}
	for name, own := range f.awaited {
		if p.matches(name) == matchExact {
			delete(f.awaited, name)
			f.ports[p.id] = own
			return own
		}
	}
	return f.port
}

// RailOptions say how a device is used.
type RailOptions struct {
	Name   string // "": the device's
	Weight int    // 0: by measured rate; else the share relative to other rails with a weight
	NoCRC  bool   // trust the link: frames to us need no CRC on it
}

// mtuLeast is the least MTU of a rail, bytes.
const mtuLeast = 576

// AddRail puts a device to use and takes ownership of it; on error the caller
// keeps it.
func (f *Fabric) AddRail(dev rail.Device, o RailOptions) error {
	info := dev.Info()
	o.Name = cmp.Or(o.Name, info.Name)
	if o.Weight < 0 {
		return fmt.Errorf("rail %s: weight %d is below 0", o.Name, o.Weight)
	}
	if info.MTU < mtuLeast {
		return fmt.Errorf("rail %s: MTU %d is below %d", o.Name, info.MTU, mtuLeast)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return ErrClosed
	}
	if f.devices[o.Name] != nil {
		return fmt.Errorf("rail %s: %w", o.Name, ErrRailExists)
	}
	id := slices.Index(f.byID[:], nil)
	if id < 0 {
		return fmt.Errorf("rail %s: a fabric has %d rails at most", o.Name, len(f.byID))
	}
	d := newDevice(f, dev, o, transport.DeviceID(id))
	if err := f.handshake.AddDevice(f.now(), d.id, d.attachment()); err != nil {
		return fmt.Errorf("rail %s: %w", o.Name, err)
	}
	f.devices[o.Name], f.byID[id] = d, d
	d.run()
	f.clock.wake()
	return nil
}

// RemoveRail takes a device out of use and closes it. What was in flight on it
// goes to the others.
func (f *Fabric) RemoveRail(name string) error {
	f.mu.Lock()
	d := f.devices[name]
	if d == nil {
		f.mu.Unlock()
		return fmt.Errorf("rail %s: %w", name, ErrNoRail)
	}
	delete(f.devices, name)
	f.byID[d.id] = nil
	f.handshake.RemoveDevice(f.now(), d.id)
	f.settle()
	f.mu.Unlock()
	return d.close()
}

// Close ends every association, tells the peers, and closes all devices. It
// returns when all goroutines have ended; it is idempotent.
func (f *Fabric) Close() error {
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		f.done.Wait()
		return nil
	}
	f.closed = true
	ports := f.allPorts()
	for _, p := range ports {
		p.close() // lets go of who waits to send, perhaps in a handler
	}
	f.handshake.Close(f.now())
	f.settle() // ends the peers
	devices := f.devices
	f.devices, f.byID = map[string]*device{}, [wire.RailsMax]*device{}
	f.mu.Unlock()

	f.clock.stop()
	var failed []error
	for _, d := range devices {
		failed = append(failed, d.close())
	}
	f.done.Wait()
	f.events.close()
	return errors.Join(failed...)
}

// allPorts gives every port. Fabric.mu is held.
func (f *Fabric) allPorts() []*port {
	list := []*port{f.port}
	for _, p := range f.ports {
		list = append(list, p)
	}
	for _, p := range f.awaited {
		list = append(list, p)
	}
	return list
}
