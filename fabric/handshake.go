// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"maps"

	"github.com/tbnet2/tbnet2/rail"
	"github.com/tbnet2/tbnet2/transport"
	"github.com/tbnet2/tbnet2/wire"
)

// mismatchesMost bounds what Status remembers.
const mismatchesMost = 32

// receiveHandshake takes a HELLO, HELLO_ACK, CONFIRM or RESET.
func (f *Fabric) receiveHandshake(now transport.Time, d *device, frame *rail.RxFrame) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || f.byID[d.id] != d {
		return
	}
	var err error
	f.acts, err = f.handshake.Receive(now, d.id, transport.MAC(frame.From), frame.Data, f.acts)
	if err != nil {
		f.drops.handshake.Add(1)
	}
	f.act()
}

// answerUnknown sends RESET for an index that nobody has.
func (f *Fabric) answerUnknown(now transport.Time, d *device, from rail.MAC, index uint32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || f.byID[d.id] != d {
		return
	}
	f.acts = f.handshake.Unknown(now, d.id, transport.MAC(from), index, f.acts)
	f.act()
}

// act does what the handshake asks. Fabric.mu is held.
func (f *Fabric) act() {
	for i := range f.acts {
		a := &f.acts[i]
		switch a.Kind {
		case transport.ActSend:
			f.sendHandshake(a)
		case transport.ActNewPeer:
			f.newPeer(a)
		case transport.ActNewRail:
			f.newRail(a)
		case transport.ActEndPeer:
			f.endPeer(a.Peer, "the peer has closed or restarted")
		case transport.ActMismatch:
			f.noteMismatch(a)
		}
	}
	clear(f.acts)
	f.acts = f.acts[:0]
}

func (f *Fabric) sendHandshake(a *transport.Action) {
	d := f.byID[a.Device]
	if d == nil || !d.enabled {
		return
	}
	to := rail.MAC(a.To)
	if to == (rail.MAC{}) {
		to = wire.HelloMAC
	}
	d.sendOne(to, a.Frame)
}

// newPeer makes the association with a peer; an older one ends.
func (f *Fabric) newPeer(a *transport.Action) {
	f.dropPeer(a.Peer, "the peer has restarted")
	p := newPeer(f, a.Peer, &a.Hello, a.Index)
	f.peers[a.Peer] = p
	f.setTable(a.Index, p)
	f.cfg.Log.Info("peer", "name", p.name, "host", p.host, "endpoint", p.key.Endpoint)
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

func (f *Fabric) newRail(a *transport.Action) {
	p, d := f.peers[a.Peer], f.byID[a.Device]
	if p == nil || d == nil {
		return
	}
	if err := p.addRail(f.now(), d, a); err != nil {
		f.cfg.Log.Warn("rail not added", "rail", d.opt.Name, "peer", p.name, "err", err)
	}
	f.clock.wake()
}

// endPeer drops a peer whose association is over.
func (f *Fabric) endPeer(key transport.PeerKey, why string) {
	f.handshake.Forget(key)
	f.dropPeer(key, why)
	for _, d := range f.devices {
		info := d.dev.Info()
		f.handshake.SetDevice(f.now(), d.id, d.facts(info), info.Carrier && d.enabled, false)
	}
	f.clock.wake()
}

// dropPeer closes the association with a peer, if there is one.
func (f *Fabric) dropPeer(key transport.PeerKey, why string) {
	p := f.peers[key]
	if p == nil {
		return
	}
	delete(f.peers, key)
	f.setTable(p.index, nil)
	p.close()
	p.port.peerGone(p)
	f.emit(Event{Kind: "peer_down", Peer: p.name, Reason: why})
	f.cfg.Log.Info("peer gone", "name", p.name, "why", why)
}

func (f *Fabric) noteMismatch(a *transport.Action) {
	name := ""
	if d := f.byID[a.Device]; d != nil {
		name = d.opt.Name
	}
	f.cfg.Log.Warn("no association", "rail", name, "reason", a.Text)
	f.emit(Event{Kind: "mismatch", Rail: name, Reason: a.Text})
	for i := range f.mismatches {
		if f.mismatches[i].Text == a.Text {
			f.mismatches[i].Count++
			return
		}
	}
	if len(f.mismatches) < mismatchesMost {
		f.mismatches = append(f.mismatches, Mismatch{Rail: name, Text: a.Text, Count: 1})
	}
}
