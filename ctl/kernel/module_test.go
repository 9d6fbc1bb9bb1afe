// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"errors"
	"io"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/genetlink/genltest"
	"github.com/mdlayher/netlink"

	"github.com/tbnet2/tbnet2/ctl"
)

// module is the family in memory: one bond, its peers and rails.
type module struct {
	mu     sync.Mutex
	torn   int   // dumps to mark as overtaken
	refuse error // of every change
	used   []use // of the last SET_RAILS
	set    map[uint32]bool
	links  memLinks
}

// use is what a SET_RAILS says of one peer.
type use struct {
	peer  uuid.UUID
	rails map[uint32]uint32 // weight by ifindex
}

var alice, bob = uuid.UUID{15: 1}, uuid.UUID{15: 2}

// Devices of the module under test.
const (
	tbbond0 = 7
	tbr0    = 8
	tbr1    = 9
	tbr2    = 10
)

func newModule(t *testing.T) (*module, *Backend) {
	t.Helper()
	m := &module{set: map[uint32]bool{}, links: memLinks{
		tbbond0: {name: "tbbond0", mtu: 65520, up: true, carrier: true, addresses: []string{"10.0.0.1/24"}},
		tbr0:    {name: "tbr0", mtu: 9000, up: true, carrier: true},
		tbr1:    {name: "tbr1", mtu: 9000, up: true, carrier: true},
		tbr2:    {name: "tbr2", mtu: 1500, up: true},
	}}
	f := genetlink.Family{ID: 42, Version: 1, Name: Family}
	return m, &Backend{
		dial: func() (conn, error) {
			return tornConn{genltest.Dial(genltest.ServeFamily(f, m.serve)), m}, nil
		},
		links: func() (links, error) { return m.links, nil },
	}
}

func (m *module) serve(g genetlink.Message, _ netlink.Message) ([]genetlink.Message, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch g.Header.Command {
	case CmdGetHost:
		return answer(AttrHost, func(e *encoder) {
			e.Bytes(HostUUID, bob[:])
			e.String(HostName, "bob")
			e.String(HostVersion, "0.1.0")
			e.Uint64(HostStarted, 1e18)
		}), nil
	case CmdGetBond:
		return answer(AttrBond, func(e *encoder) { e.Uint32(BondIfindex, tbbond0) }), nil
	case CmdGetPeer:
		return answer(AttrPeer, encodePeer), nil
	case CmdGetRail:
		return m.rails(), nil
	case CmdGetDrop:
		return answer(AttrDrop, func(e *encoder) {
			e.String(DropReason, "crc")
			e.Uint64(DropCount, 3)
		}), nil
	}
	if m.refuse != nil {
		return nil, m.refuse
	}
	return []genetlink.Message{}, m.apply(g)
}

// tornConn marks the answers to dumps as the kernel does where something changed
// meanwhile.
type tornConn struct {
	*genetlink.Conn
	m *module
}

func (c tornConn) Receive() ([]genetlink.Message, []netlink.Message, error) {
	msgs, raw, err := c.Conn.Receive()
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	if c.m.torn > 0 && len(raw) > 0 {
		c.m.torn--
		raw[0].Header.Flags |= netlink.DumpInterrupted
	}
	return msgs, raw, err
}

// answer is one message with one nest.
func answer(nest uint16, fill func(*encoder)) []genetlink.Message {
	e := netlink.NewAttributeEncoder()
	e.Nested(nest, func(in *encoder) error {
		fill(in)
		return nil
	})
	data, err := e.Encode()
	if err != nil {
		panic(err)
	}
	return []genetlink.Message{{Data: data}}
}

func encodePeer(e *encoder) {
	e.Bytes(PeerUUID, alice[:])
	e.String(PeerName, "alice")
	e.Uint32(PeerBond, tbbond0)
	e.Uint8(PeerState, 0)
	e.Uint8(PeerRetransmit, 1)
	e.Uint64(PeerRTT, 25000)
	for i := PeerTxPackets; i <= PeerTxQueuedBytes; i++ {
		e.Uint64(i, uint64(i))
	}
}

// rails: two up to alice, one that looks for a peer.
func (m *module) rails() (out []genetlink.Message) {
	for _, index := range slices.Sorted(maps.Keys(m.links)) {
		if index == tbbond0 {
			continue
		}
		out = append(out, answer(AttrRail, func(e *encoder) {
			e.Uint32(RailIfindex, index)
			e.Uint8(RailEnabled, 1)
			if index == tbr2 {
				e.Uint8(RailState, 0)
				e.String(RailReason, "nobody answers")
				return
			}
			e.Bytes(RailPeer, alice[:])
			e.Uint8(RailState, 2)
			e.Uint8(RailInUse, 1)
			e.Uint64(RailLinkBPS, 40e9)
			for i := RailTxFrames; i <= RailSuspicions; i++ {
				e.Uint64(i, uint64(i))
			}
		})...)
	}
	return out
}

// apply does a change.
func (m *module) apply(g genetlink.Message) error {
	d, err := netlink.NewAttributeDecoder(g.Data)
	if err != nil {
		return err
	}
	for d.Next() {
		switch {
		case g.Header.Command == CmdSetRails && d.Type() == AttrUse:
			u := use{rails: map[uint32]uint32{}}
			d.Nested(u.decode)
			m.used = append(m.used, u)
		case g.Header.Command == CmdSetRail && d.Type() == AttrRail:
			d.Nested(m.setRail)
		default:
			return errors.New("unexpected attribute")
		}
	}
	return d.Err()
}

func (u *use) decode(d *decoder) error {
	for d.Next() {
		switch d.Type() {
		case UsePeer:
			u.peer = decodeUUID(d)
		case UseRail:
			d.Nested(func(in *decoder) error {
				var index, weight uint32
				for in.Next() {
					switch in.Type() {
					case UseRailIfindex:
						index = in.Uint32()
					case UseRailWeight:
						weight = in.Uint32()
					}
				}
				u.rails[index] = weight
				return in.Err()
			})
		}
	}
	return d.Err()
}

func (m *module) setRail(d *decoder) error {
	var index uint32
	var enabled bool
	for d.Next() {
		switch d.Type() {
		case RailIfindex:
			index = d.Uint32()
		case RailEnabled:
			enabled = d.Uint8() != 0
		}
	}
	m.set[index] = enabled
	return d.Err()
}

// memLinks are devices in memory.
type memLinks map[uint32]link

func (m memLinks) all() (map[uint32]link, error) { return maps.Clone(m), nil }

func (m memLinks) setMTU(ifindex uint32, mtu int) error {
	l := m[ifindex]
	l.mtu = mtu
	m[ifindex] = l
	return nil
}

func (m memLinks) addAddress(ifindex uint32, cidr string) error {
	if cidr == "192.0.2.1/24" {
		return ctl.Errorf(ctl.CodeInvalid, "address %s: refused", cidr)
	}
	l := m[ifindex]
	l.addresses = append(slices.Clone(l.addresses), cidr)
	m[ifindex] = l
	return nil
}

func (m memLinks) removeAddress(ifindex uint32, cidr string) error {
	l := m[ifindex]
	l.addresses = slices.DeleteFunc(slices.Clone(l.addresses), func(a string) bool { return a == cidr })
	m[ifindex] = l
	return nil
}

// feed is a source that gives what it was filled with, then io.EOF.
type feed []any // genetlink.Message or error

func (f *feed) Receive() ([]genetlink.Message, []netlink.Message, error) {
	if len(*f) == 0 {
		return nil, nil, io.EOF
	}
	next := (*f)[0]
	*f = (*f)[1:]
	if err, ok := next.(error); ok {
		return nil, nil, err
	}
	return []genetlink.Message{next.(genetlink.Message)}, nil, nil
}
