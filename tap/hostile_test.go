// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"encoding/binary"
	"net"
	"testing"

	"github.com/tbnet2/tbnet2/transport"
	"github.com/tbnet2/tbnet2/wire"
)

// frame4 and frame6 are TCP superpackets of payload bytes; tags VLAN tags are put in.
func frame4(tags, payload int) ([]byte, wire.Offload) {
	f := ethernet(tags, 0x0800, ipv4Len+tcpLen+payload)
	ip := f[ethLen+tags*vlanLen:]
	ip[0], ip[8], ip[9] = 0x45, 64, 6
	binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)))
	copy(ip[12:], net.IPv4(10, 77, 0, 1).To4())
	copy(ip[16:], net.IPv4(10, 77, 0, 2).To4())
	return f, tcpOffload(f, ip[ipv4Len:], wire.GSOTCPv4)
}

func frame6(tags, payload int) ([]byte, wire.Offload) {
	f := ethernet(tags, 0x86dd, ipv6Len+tcpLen+payload)
	ip := f[ethLen+tags*vlanLen:]
	ip[0], ip[6], ip[7] = 0x60, 6, 64
	binary.BigEndian.PutUint16(ip[4:], uint16(len(ip)-ipv6Len))
	return f, tcpOffload(f, ip[ipv6Len:], wire.GSOTCPv6)
}

func ethernet(tags int, proto uint16, n int) []byte {
	f := make([]byte, ethLen+tags*vlanLen+n)
	copy(f, []byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1})
	for i := range tags {
		binary.BigEndian.PutUint16(f[12+i*vlanLen:], 0x8100)
	}
	binary.BigEndian.PutUint16(f[12+tags*vlanLen:], proto)
	return f
}

func tcpOffload(f, tcp []byte, gso uint8) wire.Offload {
	tcp[12] = tcpLen / 4 << 4
	start := len(f) - len(tcp)
	return wire.Offload{
		Flags: wire.OffloadNeedsCsum, GSOType: gso, HdrLen: uint16(start + tcpLen), GSOSize: 1448,
		CsumStart: uint16(start), CsumOffset: tcpCsumOff,
	}
}

// descriptors are what a peer may send; good says whether the kernel gets it.
func descriptors() map[string]descriptor {
	v4, o4 := frame4(0, 4000)
	v6, o6 := frame6(0, 4000)
	tag4, otag4 := frame4(2, 4000)
	tag6, otag6 := frame6(1, 4000)
	udp := wire.Offload{Flags: wire.OffloadNeedsCsum, CsumStart: 34, CsumOffset: 6}
	out := map[string]descriptor{
		"TCPv4": {v4, o4, true}, "TCPv6": {v6, o6, true}, "TCPv4 in two VLANs": {tag4, otag4, true},
		"TCPv6 in a VLAN": {tag6, otag6, true}, "checksum only": {v4, udp, true}, "nothing to do": {v4, wire.Offload{}, true},
		"data valid": {v4, wire.Offload{Flags: wire.OffloadDataValid}, true},
	}
	bad := func(name string, f []byte, o wire.Offload, change func(f []byte, o *wire.Offload)) {
		f = append([]byte(nil), f...)
		change(f, &o)
		out[name] = descriptor{f, o, false}
	}
	type frame = []byte
	type offload = *wire.Offload
	bad("unknown flag", v4, o4, func(_ frame, o offload) { o.Flags |= 4 })
	bad("unknown type", v4, o4, func(_ frame, o offload) { o.GSOType = 5 })
	bad("type of UDP fragmentation", v4, o4, func(_ frame, o offload) { o.GSOType = 3 })
	bad("no segment size", v4, o4, func(_ frame, o offload) { o.GSOSize = 0 })
	bad("tiny segment size", v4, o4, func(_ frame, o offload) { o.GSOSize = 7 })
	bad("superpacket without checksum", v4, o4, func(_ frame, o offload) { o.Flags = 0 })
	bad("header beyond the frame", v4, o4, func(f frame, o offload) { o.HdrLen = uint16(len(f) + 1) })
	bad("header inside Ethernet's", v4, o4, func(_ frame, o offload) { o.HdrLen = 13 })
	bad("checksum beyond the frame", v4, udp, func(f frame, o offload) { o.CsumStart = uint16(len(f) - 7) })
	bad("checksum far beyond the frame", v4, udp, func(_ frame, o offload) { o.CsumStart, o.CsumOffset = 65535, 65535 })
	bad("checksum in Ethernet's header", v4, udp, func(_ frame, o offload) { o.CsumStart = 6 })
	bad("checksum at no TCP field", v4, o4, func(_ frame, o offload) { o.CsumOffset = 6 })
	bad("TCP not behind the IP header", v4, o4, func(_ frame, o offload) { o.CsumStart += 4 })
	bad("TCP before the end of the IPv6 header", v6, o6, func(_ frame, o offload) { o.CsumStart = ethLen + ipv6Len - 4 })
	bad("TCP header at the frame's end", v4, o4, func(f frame, o offload) { o.CsumStart = uint16(len(f) - 19) })
	bad("TCP header longer than the frame", v4[:ethLen+ipv4Len+tcpLen+8], o4, func(f frame, _ offload) { f[ethLen+ipv4Len+12] = 0xf0 })
	bad("TCP header too short", v4, o4, func(f frame, _ offload) { f[ethLen+ipv4Len+12] = 0x40 })
	bad("no payload", v4[:ethLen+ipv4Len+tcpLen], o4, func(frame, offload) {})
	bad("IPv4 said to be IPv6", v4, o4, func(_ frame, o offload) { o.GSOType = wire.GSOTCPv6 })
	bad("IPv6 said to be IPv4", v6, o6, func(_ frame, o offload) { o.GSOType = wire.GSOTCPv4 })
	bad("UDP said to be TCP", v4, o4, func(f frame, _ offload) { f[ethLen+9] = 17 })
	bad("wrong IP version", v6, o6, func(f frame, _ offload) { f[ethLen] = 0x40 })
	bad("three VLAN tags", tag4, otag4, func(f frame, _ offload) { binary.BigEndian.PutUint16(f[20:], 0x8100) })
	return out
}

type descriptor struct {
	frame []byte
	o     wire.Offload
	good  bool
}

func TestCheckOffload(t *testing.T) {
	for name, d := range descriptors() {
		t.Run(name, func(t *testing.T) {
			if got := checkOffload(d.frame, &d.o) == nil; got != d.good {
				t.Errorf("taken: got %v, want %v", got, d.good)
			}
		})
	}
}

// What the check takes the kernel takes too, and what it refuses is counted
// and never reaches the kernel.
func TestHostileDescriptors(t *testing.T) {
	a := newHost(t, "10.77.0.1")
	a.open(a.config())
	pa, _ := newPipes(t, 1)
	r := newReceiver(a.dev, pa)
	var good, bad uint64
	for name, d := range descriptors() {
		r.deliver([]transport.Delivery{{Data: d.frame, Offload: d.o, HasOffload: true}})
		if d.good {
			good++
		} else {
			bad++
		}
		s := a.dev.Stats()
		if s.RxPackets != good || s.RxBadOffload != bad || s.RxErrors != 0 {
			t.Fatalf("%s: got %d taken, %d refused, %d errors, want %d, %d, 0", name, s.RxPackets, s.RxBadOffload, s.RxErrors, good, bad)
		}
	}
	r.deliver([]transport.Delivery{{Data: make([]byte, ethLen-1)}})
	if s := a.dev.Stats(); s.RxShort != 1 {
		t.Errorf("short: got %d, want 1", s.RxShort)
	}
}

// A netdev that is down, and a device that is closed, drop and count, and the
// buffers go back.
func TestDropsAreCounted(t *testing.T) {
	a := newHost(t, "10.77.0.1")
	a.open(a.config())
	link, err := a.h.LinkByName("tbbond0")
	if err != nil {
		t.Fatal(err)
	}
	if err := a.h.LinkSetDown(link); err != nil {
		t.Fatal(err)
	}
	port := &buffers{pipe: newPipe(1)}
	r := newReceiver(a.dev, port)
	f, o := frame4(0, 100)
	batch := []transport.Delivery{{Data: f, Offload: o, HasOffload: true, Buf: &transport.Buffer{}}, {Data: f}}
	r.deliver(batch)
	if s := a.dev.Stats(); s.RxDown != 2 {
		t.Errorf("down: got %+v, want 2", s)
	}
	if err := a.dev.Close(); err != nil {
		t.Fatal(err)
	}
	r.deliver(batch)
	if got := a.dev.count.rxClosed.Load(); got != 2 {
		t.Errorf("closed: got %d, want 2", got)
	}
	if port.back != 2 {
		t.Errorf("buffers given back: got %d, want 2", port.back)
	}
}

// buffers is a port that counts what is released.
type buffers struct {
	*pipe
	back int
}

func (b *buffers) Release(*transport.Buffer) { b.back++ }

func FuzzCheckOffload(f *testing.F) {
	for _, d := range descriptors() {
		var b [wire.OffloadLen]byte
		d.o.Put(b[:])
		f.Add(d.frame[:min(len(d.frame), 200)], b[:vnetLen])
	}
	f.Fuzz(func(t *testing.T, frame, header []byte) {
		if len(header) < vnetLen || len(frame) < ethLen {
			return
		}
		var o wire.Offload
		if !parseVnet(header, &o) || checkOffload(frame, &o) != nil {
			return
		}
		if o.Flags&wire.OffloadNeedsCsum != 0 {
			_ = frame[int(o.CsumStart)+int(o.CsumOffset)+1]
		}
		if o.GSOType == wire.GSONone {
			return
		}
		if hdr := int(o.CsumStart) + int(frame[o.CsumStart+12]>>4)*4; hdr >= len(frame) || o.GSOSize < gsoSizeMin {
			t.Errorf("taken without payload or with segments of %d B", o.GSOSize)
		}
		var back [wire.OffloadLen]byte
		var again wire.Offload
		putVnet(&back, true, &o)
		if parseVnet(back[:], &again); again != o {
			t.Errorf("header: got %+v, want %+v", again, o)
		}
	})
}
