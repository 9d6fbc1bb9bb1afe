// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"sync"

	"github.com/tbnet2/tbnet2/rail"
	"github.com/tbnet2/tbnet2/transport"
)

// Bounds of a port's address table.
const (
	stationsMost = 4096
	stationLife  = 300 * transport.Second // as a bridge's
	stationFresh = transport.Second       // an entry this young is not written again
)

// stations is where addresses were seen.
type stations struct {
	mu     sync.RWMutex // guards what follows
	known  map[rail.MAC]station
	missed uint64         // not learned for want of room
	fullAt transport.Time // when the table was last cleared of old ones
}

// station is where a MAC was seen.
type station struct {
	peer *peer
	at   transport.Time
}

// find gives the peer that a MAC was learned from, nil if none.
func (t *stations) find(mac rail.MAC, now transport.Time) *peer {
	t.mu.RLock()
	defer t.mu.RUnlock()
	s, ok := t.known[mac]
	if !ok || now-s.at > stationLife {
		return nil
	}
	return s.peer
}

// learn notes where packets came from.
func (t *stations) learn(from *peer, batch []transport.Delivery, now transport.Time) {
	var last rail.MAC
	for i := range batch {
		d := &batch[i]
		if d.Offset != 0 || len(d.Data) < etherLeast || d.Data[6]&1 != 0 {
			continue
		}
		mac := rail.MAC(d.Data[6:12])
		if mac != last && !t.fresh(mac, from, now) {
			t.put(mac, station{from, now})
		}
		last = mac
	}
}

// fresh reports whether nothing is to be learned of a MAC.
func (t *stations) fresh(mac rail.MAC, from *peer, now transport.Time) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	s := t.known[mac]
	return s.peer == from && now-s.at < stationFresh
}

// put writes one entry; into a full table only in the place of an old one.
func (t *stations) put(mac rail.MAC, s station) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.known[mac]; !ok && len(t.known) >= stationsMost && !t.age(s.at) {
		t.missed++
		return
	}
	t.known[mac] = s
}

// age clears the table of old entries, once a second at most, and reports
// whether that made room.
func (t *stations) age(now transport.Time) bool {
	if now-t.fullAt < transport.Second {
		return false
	}
	t.fullAt = now
	for mac, s := range t.known {
		if now-s.at > stationLife {
			delete(t.known, mac)
		}
	}
	return len(t.known) < stationsMost
}

// forget drops the entries of a peer.
func (t *stations) forget(gone *peer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for mac, s := range t.known {
		if s.peer == gone {
			delete(t.known, mac)
		}
	}
}

// count gives how many are known, and how many were not learned.
func (t *stations) count() (known, missed uint64) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return uint64(len(t.known)), t.missed
}
