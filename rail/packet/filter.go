// SPDX-License-Identifier: Apache-2.0

package packet

import (
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/tbnet2/tbnet2/wire"
)

// Offsets in a frame, the Ethernet header included.
const (
	etherHeaderLen = 14
	offEtherType   = 12
	offVersionType = etherHeaderLen
	offEndpoint    = etherHeaderLen + 4
)

// otherHost is PACKET_OTHERHOST: a frame for another machine, which the device
// shows while somebody watches it in promiscuous mode, or a switch floods.
const otherHost = 3

// filter lets through our frames that every endpoint must see (HELLO, RESET)
// and those whose index names the endpoint, if they are for this machine and
// untagged (the kernel takes a VLAN's tag off before it shows the frame).
func filter(endpoint uint8) ([]unix.SockFilter, error) {
	raw, err := bpf.Assemble([]bpf.Instruction{
		bpf.LoadAbsolute{Off: offEtherType, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: wire.EtherType, SkipTrue: 11},
		bpf.LoadExtension{Num: bpf.ExtType},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: otherHost, SkipTrue: 9},
		bpf.LoadExtension{Num: bpf.ExtVLANTagPresent},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: 0, SkipTrue: 7},
		bpf.LoadAbsolute{Off: offVersionType, Size: 1},
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0x0f},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(wire.TypeHello), SkipTrue: 3},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(wire.TypeReset), SkipTrue: 2},
		bpf.LoadAbsolute{Off: offEndpoint, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(endpoint), SkipTrue: 1},
		bpf.RetConstant{Val: 1 << 18},
		bpf.RetConstant{Val: 0},
	})
	if err != nil {
		return nil, err
	}
	out := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		out[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	return out, nil
}

// attach puts a filter on a socket.
func attach(fd int, f []unix.SockFilter) error {
	return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER,
		&unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]})
}
