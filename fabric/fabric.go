// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tbnet2/tbnet2/rail"
	"github.com/tbnet2/tbnet2/transport"
)

// Fabric is one speaker on a host: its devices, its peers, its port.
type Fabric struct {
	cfg   Config
	start time.Time
	mem   memory
	port  *port                            // of all peers without one of their own
	table atomic.Pointer[map[uint32]*peer] // by our index; replaced whole

	mu         sync.Mutex // guards what follows
	handshake  *transport.Handshake
	devices    map[string]*device
	byID       map[int]*device
	peers      map[transport.PeerKey]*peer
	acts       []transport.Action
	mismatches []Mismatch
	ports      map[transport.PeerKey]*port // of single peers
	closed     bool

	clock  clock
	events events
	done   sync.WaitGroup

	drops dropCounts
}

// dropCounts are frames that reached no association.
type dropCounts struct {
	malformed, unknownIndex, noRail, handshake atomic.Uint64
}

// New makes a fabric without rails. A fabric alone is fine: peers come when
// rails do.
func New(cfg Config) (*Fabric, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	f := &Fabric{cfg: cfg, start: time.Now(), devices: map[string]*device{}, byID: map[int]*device{},
		peers: map[transport.PeerKey]*peer{}, ports: map[transport.PeerKey]*port{}}
	f.handshake = transport.NewHandshake(cfg.identity(true), random)
	f.table.Store(&map[uint32]*peer{})
	f.port = newPort(f)
	f.clock.init()
	f.done.Add(1)
	go f.keepTime()
	return f, nil
}

// now is the fabric's clock.
func (f *Fabric) now() transport.Time { return transport.Time(time.Since(f.start)) }

// Config gives the configuration with its defaults filled in.
func (f *Fabric) Config() Config { return f.cfg }

// Port is the Ethernet face over all peers.
func (f *Fabric) Port() Port { return f.port }

// PortTo gives a port to one peer alone, named as in SetRails; Port no longer
// carries that peer's packets then, and neither after the peer has restarted.
func (f *Fabric) PortTo(name string) (Port, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	found, err := f.find(name)
	if err != nil {
		return nil, err
	}
	p := found[0]
	if f.ports[p.key] == nil {
		own := newPort(f)
		f.ports[p.key] = own
		f.port.peerGone(p)
		p.lock()
		p.port = own
		own.railsChanged(p)
		p.unlock()
	}
	return f.ports[p.key], nil
}

// portFor is the port that a peer's packets go to. Fabric.mu is held.
func (f *Fabric) portFor(key transport.PeerKey) *port {
	if p := f.ports[key]; p != nil {
		return p
	}
	return f.port
}

// RailOptions say how a device is used.
type RailOptions struct {
	Name   string // "": the device's
	Weight int    // 0: by measured rate; else the share relative to other rails with a weight
	NoCRC  bool   // trust the link: frames carry no CRC from us on it
}

// AddRail puts a device to use and takes ownership of it; on error the caller
// keeps it.
func (f *Fabric) AddRail(dev rail.Device, o RailOptions) error {
	info := dev.Info()
	if o.Name == "" {
		o.Name = info.Name
	}
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
	d := newDevice(f, dev, o)
	d.id = f.handshake.AddDevice(f.now(), d.facts(info), info.Carrier)
	f.devices[o.Name], f.byID[d.id] = d, d
	d.run()
	f.clock.wake()
	return nil
}

// mtuLeast is the least MTU of a rail, bytes.
const mtuLeast = 576

// facts is what HELLO tells of a device.
func (d *device) facts(i rail.Info) transport.DeviceFacts {
	return transport.DeviceFacts{MTU: i.MTU, Rate: i.Rate, Group: i.Group, TrustLink: d.opt.NoCRC}
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
	delete(f.byID, d.id)
	f.handshake.RemoveDevice(d.id)
	for _, p := range f.peers {
		p.removeDevice(f.now(), d)
	}
	f.mu.Unlock()
	return d.close()
}

// Close ends every association, tells the peers, and closes all devices.
func (f *Fabric) Close() error {
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return nil
	}
	f.closed = true
	for key := range f.peers {
		f.acts = f.handshake.Leave(key, f.acts)
	}
	f.act()
	devices, peers := f.devices, f.peers
	f.devices, f.byID, f.peers = map[string]*device{}, map[int]*device{}, map[transport.PeerKey]*peer{}
	f.table.Store(&map[uint32]*peer{})
	f.mu.Unlock()

	f.clock.stop()
	var first error
	for _, d := range devices {
		if err := d.close(); err != nil && first == nil {
			first = err
		}
	}
	f.done.Wait()
	for _, p := range peers {
		p.close()
	}
	f.port.close()
	for _, p := range f.ports {
		p.close()
	}
	f.events.close()
	return first
}
