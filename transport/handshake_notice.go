// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"fmt"
	"slices"

	"github.com/tbnet2/tbnet2/wire"
)

// NoticeKind says what keeps two hosts apart.
type NoticeKind uint8

// Notice kinds.
const (
	NoticeService  NoticeKind = iota // the other host serves nothing we do
	NoticeVersion                    // no common protocol version
	NoticeConflict                   // two machines have one UUID
)

// String names the kind as status does.
func (k NoticeKind) String() string {
	return [...]string{"service_mismatch", "version_mismatch", "uuid_conflict"}[k]
}

// Notice is something a user must know: why no association forms.
type Notice struct {
	Kind   NoticeKind
	Peer   PeerID
	Name   string  // of the other host
	Device string  // ours
	MAC    [6]byte // of the other host's device
	Text   string  // one sentence, with both names
	first  Time    // when it was first so
	last   Time    // and last
	told   bool    // passed on as a change
}

// Notices gives those that still hold and have been told.
func (h *Handshake) Notices() []Notice {
	list := make([]Notice, 0, len(h.notices))
	for i := range h.notices {
		if h.notices[i].told {
			list = append(list, h.notices[i])
		}
	}
	return list
}

// note keeps a notice. Those that may yet pass are told later, by sweep.
func (h *Handshake) note(now Time, kind NoticeKind, id PeerID, m *wire.Hello, d *attached, from [6]byte, text string) {
	i := slices.IndexFunc(h.notices, func(n Notice) bool { return n.Kind == kind && n.Peer == id && n.MAC == from })
	if i < 0 {
		if len(h.notices) == noticesMost {
			h.stats.NotesFull++
			return
		}
		h.notices = append(h.notices, Notice{Kind: kind, Peer: id, MAC: from, first: now})
		i = len(h.notices) - 1
	}
	n := &h.notices[i]
	n.Name, n.Device, n.Text, n.last = m.Name, d.Name, text, now
	if kind != NoticeService {
		h.tell(n)
	}
}

func (h *Handshake) tell(n *Notice) {
	if !n.told {
		n.told = true
		h.change(HandshakeChange{Kind: ChangeNotice, Peer: n.Peer, Notice: *n})
	}
}

// sweepNotices tells what has held for long enough and forgets what no longer
// does.
func (h *Handshake) sweepNotices(now Time) {
	h.notices = slices.DeleteFunc(h.notices, func(n Notice) bool {
		return now-n.last > noticeLife || n.Kind == NoticeService && h.servedBy(n.Peer.Host)
	})
	for i := range h.notices {
		if n := &h.notices[i]; now-n.first >= noticeDelay {
			h.tell(n)
		}
	}
}

// servedBy reports whether some endpoint of a host serves what we do.
func (h *Handshake) servedBy(host [16]byte) bool {
	return slices.ContainsFunc(h.peers, func(p *peer) bool { return p.id.Host == host })
}

// acceptable reports whether a host may be spoken with; if not, why is counted
// and noted.
func (h *Handshake) acceptable(now Time, d *attached, from [6]byte, m *wire.Hello) bool {
	id := PeerID{Host: m.Host, Endpoint: uint8(m.Index)}
	switch {
	case m.Host == h.cfg.Host:
		return h.ownHost(now, d, from, m, id)
	case m.VersionLow > wire.Version || m.VersionHigh < wire.Version:
		h.drop(HandshakeMismatch)
		h.note(now, NoticeVersion, id, m, d, from, fmt.Sprintf("%s speaks protocol versions %d to %d, %s only %d: update the older one",
			h.call(m.Name, from), m.VersionLow, m.VersionHigh, h.call(h.cfg.Name, d.MAC), wire.Version))
		return false
	case m.Service != h.cfg.Service:
		h.drop(HandshakeMismatch)
		h.note(now, NoticeService, id, m, d, from, fmt.Sprintf("%s offers the service %v, %s %v: start the same service on both",
			h.call(m.Name, from), m.Service, h.call(h.cfg.Name, d.MAC), h.cfg.Service))
		return false
	}
	return h.living(now, d, from, m, id)
}

// ownHost tells our own frames from those of another machine with our UUID.
func (h *Handshake) ownHost(now Time, d *attached, from [6]byte, m *wire.Hello, id PeerID) bool {
	ours := m.Epoch == h.cfg.Epoch || m.Name == h.cfg.Name && id.Endpoint != h.cfg.Endpoint ||
		slices.ContainsFunc(h.devices[:], func(o *attached) bool { return o != nil && o.MAC == from })
	if ours {
		h.drop(HandshakeOwn)
		return false
	}
	h.drop(HandshakeMismatch)
	h.note(now, NoticeConflict, id, m, d, from, fmt.Sprintf("%s and %s have the same UUID %x: set another one on one of them",
		h.call(m.Name, from), h.call(h.cfg.Name, d.MAC), m.Host))
	return false
}

// living refuses epochs that have ended. One that goes on is another machine.
func (h *Handshake) living(now Time, d *attached, from [6]byte, m *wire.Hello, id PeerID) bool {
	p := h.peer(id)
	if p == nil || !p.isDead(m.Epoch) {
		return true
	}
	h.drop(HandshakeOldEpoch)
	if now-p.replacedAt > ghostTime {
		h.note(now, NoticeConflict, id, m, d, from, fmt.Sprintf("%s and %s have the same UUID %x: set another one on one of them",
			h.call(m.Name, from), h.call(p.name, [6]byte{}), m.Host))
	}
	return false
}

// call names a host with its address.
func (h *Handshake) call(name string, mac [6]byte) string {
	if name == "" {
		name = "an unnamed host"
	}
	if mac == ([6]byte{}) {
		return name
	}
	return fmt.Sprintf("%s (%x:%x:%x:%x:%x:%x)", name, mac[0], mac[1], mac[2], mac[3], mac[4], mac[5])
}
