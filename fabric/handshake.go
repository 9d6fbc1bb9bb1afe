// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"maps"

	"github.com/tbnet2/tbnet2/rail"
	"github.com/tbnet2/tbnet2/transport"
)

// receiveHandshake takes a HELLO, HELLO_ACK, CONFIRM or RESET.
func (f *Fabric) receiveHandshake(now transport.Time, d *device, frame *rail.RxFrame) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.byID[d.id] == d {
		f.handshake.Receive(now, d.id, frame.From, frame.Data)
		f.settle()
	}
}

// answerUnknown has an index that nobody has answered.
func (f *Fabric) answerUnknown(now transport.Time, d *device, from rail.MAC, index uint32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.byID[d.id] == d {
		f.handshake.UnknownIndex(now, d.id, from, index)
		f.settle()
	}
}

// settle does what the handshake asks, and has the clock keep its deadline.
// Fabric.mu is held.
func (f *Fabric) settle() {
	f.obey()
	f.clock.due(f.handshake.Deadline())
}

// obey is settle for the clock's own goroutine, which takes the deadline from
// tick: to be woken by it would be to never sleep. Fabric.mu is held.
func (f *Fabric) obey() {
	f.handshake.Take(&f.output)
	for i := range f.output.Frames {
		h := &f.output.Frames[i]
		if d := f.byID[h.Device]; d != nil {
			d.sendOne(h.To, h.Data)
		}
	}
	for i := range f.output.Changes {
		f.follow(&f.output.Changes[i])
	}
}

// follow takes one step of the handshake. Fabric.mu is held.
func (f *Fabric) follow(c *transport.HandshakeChange) {
	p := f.peers[c.Peer]
	switch c.Kind {
	case transport.ChangePeerMade:
		f.newPeer(c)
	case transport.ChangePeerGone:
		f.endPeer(p, c.Reason.String())
	case transport.ChangeRailMade:
		d := f.byID[c.Rail.Device]
		if err := p.addRail(f.now(), d, c.Rail); err != nil {
			f.cfg.Log.Warn("rail not added", "rail", d.opt.Name, "peer", p.name, "err", err)
		}
	case transport.ChangeRailInfo:
		p.changeRail(f.now(), c.Rail)
	case transport.ChangeRailGone:
		p.removeRail(f.now(), c.Rail.ID)
	case transport.ChangeNotice:
		f.cfg.Log.Warn("no association", "rail", c.Notice.Device, "reason", c.Notice.Text)
		f.emit(Event{Kind: "mismatch", Rail: c.Notice.Device, Peer: c.Notice.Name, Reason: c.Notice.Text})
	}
}

// newPeer makes the association with a peer.
func (f *Fabric) newPeer(c *transport.HandshakeChange) {
	p := newPeer(f, c.Peer, &c.Association)
	f.peers[c.Peer] = p
	f.setTable(p.index, p)
	f.done.Go(func() { p.clock.run(f.now, p.tick) })
	f.cfg.Log.Info("peer", "name", p.name, "host", p.host, "endpoint", p.id.Endpoint)
}

// endPeer drops a peer whose association is over.
func (f *Fabric) endPeer(p *peer, why string) {
	delete(f.peers, p.id)
	f.setTable(p.index, nil)
	p.close()
	p.port.peerGone(p)
	f.emit(Event{Kind: "peer_down", Peer: p.name, Reason: why})
	f.cfg.Log.Info("peer gone", "name", p.name, "why", why)
}

// peerDead ends an association that time has ended.
func (f *Fabric) peerDead(p *peer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.peers[p.id] == p {
		f.handshake.Forget(f.now(), p.id)
		f.settle()
	}
}

// setTable replaces one entry of the table that receivers read.
func (f *Fabric) setTable(index uint32, p *peer) {
	t := maps.Clone(*f.table.Load())
	if p == nil {
		delete(t, index)
	} else {
		t[index] = p
	}
	f.table.Store(&t)
}
