// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"encoding/binary"
	"testing"

	"github.com/tbnet2/tbnet2/rail"
	"github.com/tbnet2/tbnet2/transport"
	"github.com/tbnet2/tbnet2/wire"
)

// flowFrame makes an IP frame of one flow; version 4 or 6.
func flowFrame(version int, tags int, fragment bool, src, dst byte, sport, dport uint16) []byte {
	be := binary.BigEndian
	f := make([]byte, 12)
	for range tags {
		f = append(f, 0x81, 0x00, 0, 7)
	}
	if version == 4 {
		f = append(f, 0x08, 0x00)
		ip := make([]byte, 24)
		ip[0], ip[9], ip[15], ip[19] = 0x45, protoTCP, src, dst
		if fragment {
			be.PutUint16(ip[6:], 0x2000)
		}
		be.PutUint16(ip[20:], sport)
		be.PutUint16(ip[22:], dport)
		return append(f, ip...)
	}
	f = append(f, 0x86, 0xdd)
	ip := make([]byte, 52)
	ip[0], ip[6], ip[23], ip[39] = 0x60, protoDestOpts, src, dst
	ip[40] = protoUDP // behind eight bytes of options
	be.PutUint16(ip[48:], sport)
	be.PutUint16(ip[50:], dport)
	return append(f, ip...)
}

// TestChannelOf: a flow has one channel in both directions, many flows have
// many, and a fragment goes where the others of its packet go.
func TestChannelOf(t *testing.T) {
	for _, version := range []int{4, 6} {
		for tags := range 3 {
			used := map[uint8]bool{}
			for port := range uint16(200) {
				there := channelOf(flowFrame(version, tags, false, 1, 2, 40000+port, 80))
				back := channelOf(flowFrame(version, tags, false, 2, 1, 80, 40000+port))
				if there != back {
					t.Fatalf("IPv%d, %d tags, port %d: channels %d and %d", version, tags, port, there, back)
				}
				used[there] = true
			}
			if len(used) < wire.Channels-2 {
				t.Errorf("IPv%d, %d tags: 200 flows use %d channels", version, tags, len(used))
			}
		}
	}
	a, b := flowFrame(4, 0, true, 1, 2, 1, 2), flowFrame(4, 0, true, 1, 2, 3, 9)
	if channelOf(a) != channelOf(b) {
		t.Error("fragments of one pair of hosts are on several channels")
	}
}

// TestChannelOfShort: no length makes it read beyond the frame.
func TestChannelOfShort(t *testing.T) {
	for _, frame := range [][]byte{flowFrame(4, 2, false, 1, 2, 3, 4), flowFrame(6, 2, false, 1, 2, 3, 4)} {
		for n := etherLeast; n <= len(frame); n++ {
			if ch := channelOf(frame[:n:n]); ch >= wire.Channels {
				t.Errorf("channel %d", ch)
			}
		}
	}
}

// TestMaxPacket: the largest packet fills its last frame at least half.
func TestMaxPacket(t *testing.T) {
	for _, tt := range []struct{ mtu, want int }{
		{65535, 65535 - 48}, {40000, 40000 - 48}, {4096, 15*4032 + 4064},
	} {
		if got := maxPacket(tt.mtu); got != tt.want {
			t.Errorf("MTU %d: %d bytes, want %d", tt.mtu, got, tt.want)
		}
	}
	for mtu := mtuLeast; mtu <= 65535; mtu++ {
		got := maxPacket(mtu)
		if got > superpacket || got < superpacket/2 {
			t.Fatalf("MTU %d: %d bytes", mtu, got)
		}
		each := (mtu - wire.HeaderLen - wire.DataLen) &^ (wire.Unit - 1)
		first := (mtu - wire.HeaderLen - wire.DataLen - wire.OffloadLen) &^ (wire.Unit - 1)
		if rest := (got - first) % each; got > first && rest != 0 && rest < each/2 && rest > wire.Unit {
			t.Fatalf("MTU %d: %d bytes leave %d of %d in the last frame", mtu, got, rest, each)
		}
	}
}

// TestStations: addresses are learned, move, age, and are bounded.
func TestStations(t *testing.T) {
	at := func(mac uint32) []transport.Delivery {
		b := make([]byte, 60)
		binary.BigEndian.PutUint32(b[8:], mac)
		return []transport.Delivery{{Data: b}}
	}
	mac := func(n uint32) (m rail.MAC) {
		binary.BigEndian.PutUint32(m[2:], n)
		return m
	}
	table := stations{known: map[rail.MAC]station{}}
	a, b := new(peer), new(peer)
	now := transport.Second
	table.learn(a, at(1), now)
	if got := table.find(mac(1), now); got != a {
		t.Error("not learned")
	}
	table.learn(b, at(1), now)
	if got := table.find(mac(1), now); got != b {
		t.Error("a station that moved is looked for in its old place")
	}
	if got := table.find(mac(1), now+stationLife+1); got != nil {
		t.Error("an entry does not age")
	}
	for i := range uint32(2 * stationsMost) {
		table.learn(a, at(100+i), now)
	}
	if known, missed := table.count(); known != stationsMost || missed == 0 {
		t.Errorf("%d known, %d missed", known, missed)
	}
	now += stationLife + transport.Second
	table.learn(a, at(7), now)
	if table.find(mac(7), now) != a {
		t.Error("a table full of old entries learns nothing")
	}
	table.learn(b, at(8), now)
	table.forget(a)
	if known, _ := table.count(); known != 1 {
		t.Errorf("%d known after a peer has gone, want 1", known)
	}
}
