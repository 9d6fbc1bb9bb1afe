// SPDX-License-Identifier: Apache-2.0

package packet

import (
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tbnet2/tbnet2/rail"
)

// Layout of a TPACKET_V2 slot (linux/if_packet.h).
const (
	slotStatus  = 0
	slotLen     = 4
	slotSnapLen = 8
	slotMAC     = 12
	slotHeadMax = 96 // header, address and alignment before the Ethernet header
)

// Size of the ring.
const (
	ringBytes = 16 << 20 // aimed at
	slotsMin  = 512      // a burst of small frames takes whole slots; 33 MiB at the largest MTU
	slotsMax  = 4096
	blockSize = 1 << 20 // slots do not cross blocks; the kernel falls back to vmalloc
)

// ring is a socket with a mapped receive ring. One goroutine uses it.
type ring struct {
	file     *os.File // owns the socket and has it in the runtime's poller
	raw      syscall.RawConn
	mem      []byte
	slots    []*uint32 // the status word of each slot
	slotSize int
	head     int // next slot the kernel fills
	held     int // slots before head that the reader still has
}

// openRing opens a socket on a device whose frames have up to mtu bytes.
func openRing(ifindex, mtu int, endpoint uint8) (r *ring, err error) {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("socket: %w (CAP_NET_RAW is needed)", err)
	}
	r = &ring{file: os.NewFile(uintptr(fd), "packet")}
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	prog, err := filter(endpoint)
	if err != nil {
		return nil, err
	}
	if err := attach(fd, prog); err != nil {
		return nil, fmt.Errorf("filter: %w", err)
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1); err != nil {
		return nil, fmt.Errorf("ignore outgoing: %w", err)
	}
	if err := join(fd, ifindex); err != nil {
		return nil, fmt.Errorf("join: %w", err)
	}
	if err := r.mapSlots(fd, mtu); err != nil {
		return nil, err
	}
	err = unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: hostToNet(etherType), Ifindex: ifindex})
	if err != nil {
		return nil, fmt.Errorf("bind: %w", err)
	}
	r.raw, err = r.file.SyscallConn()
	return r, err
}

// mapSlots sets the ring up and maps it.
func (r *ring) mapSlots(fd, mtu int) error {
	const align = 16
	r.slotSize = (slotHeadMax + etherHeaderLen + mtu + align - 1) &^ (align - 1)
	perBlock := blockSize / r.slotSize
	count := min(max(ringBytes/r.slotSize, slotsMin), slotsMax)
	blocks := (count + perBlock - 1) / perBlock
	if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_VERSION, unix.TPACKET_V2); err != nil {
		return fmt.Errorf("packet version: %w", err)
	}
	req := unix.TpacketReq{Block_size: blockSize, Block_nr: uint32(blocks),
		Frame_size: uint32(r.slotSize), Frame_nr: uint32(blocks * perBlock)}
	if err := unix.SetsockoptTpacketReq(fd, unix.SOL_PACKET, unix.PACKET_RX_RING, &req); err != nil {
		return fmt.Errorf("receive ring of %d MiB: %w", blocks, err)
	}
	mem, err := unix.Mmap(fd, 0, blocks*blockSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("map receive ring: %w", err)
	}
	r.mem = mem
	for b := range blocks {
		for s := range perBlock {
			r.slots = append(r.slots, (*uint32)(unsafe.Pointer(&mem[b*blockSize+s*r.slotSize])))
		}
	}
	return nil
}

// ready reports whether the kernel has filled the next slot.
func (r *ring) ready() bool { return atomic.LoadUint32(r.slots[r.head])&unix.TP_STATUS_USER != 0 }

// take fills frames from the ring. The slots stay with the reader until
// release.
func (r *ring) take(frames []rail.RxFrame) (n, bad int) {
	for n < len(frames) && r.held < len(r.slots) && r.ready() {
		slot := unsafe.Slice((*byte)(unsafe.Pointer(r.slots[r.head])), r.slotSize)
		if f, ok := parseSlot(slot); ok {
			frames[n] = f
			n++
		} else {
			bad++
		}
		r.held++
		r.head = (r.head + 1) % len(r.slots)
	}
	return n, bad
}

// parseSlot finds the frame in a slot; false if it was cut short.
func parseSlot(slot []byte) (f rail.RxFrame, ok bool) {
	length := *(*uint32)(unsafe.Pointer(&slot[slotLen]))
	snap := *(*uint32)(unsafe.Pointer(&slot[slotSnapLen]))
	mac := int(*(*uint16)(unsafe.Pointer(&slot[slotMAC])))
	if snap < length || snap < etherHeaderLen || mac+int(snap) > len(slot) {
		return f, false
	}
	ether := slot[mac : mac+int(snap)]
	copy(f.From[:], ether[6:12])
	f.Data = ether[etherHeaderLen:]
	return f, true
}

// release gives the reader's slots back to the kernel.
func (r *ring) release() {
	at := r.head - r.held
	if at < 0 {
		at += len(r.slots)
	}
	for ; r.held > 0; r.held-- {
		atomic.StoreUint32(r.slots[at], unix.TP_STATUS_KERNEL)
		at = (at + 1) % len(r.slots)
	}
}

// waiting counts the frames that nobody has taken.
func (r *ring) waiting() (n int) {
	for n < len(r.slots)-r.held && atomic.LoadUint32(r.slots[(r.head+n)%len(r.slots)])&unix.TP_STATUS_USER != 0 {
		n++
	}
	return n
}

// dropped gives the kernel's count of frames that found no slot, and clears it.
func (r *ring) dropped() (n uint64) {
	_ = r.raw.Control(func(fd uintptr) { // fails where the ring is closed, and then has been asked
		if st, err := unix.GetsockoptTpacketStats(int(fd), unix.SOL_PACKET, unix.PACKET_STATISTICS); err == nil {
			n = uint64(st.Drops)
		}
	})
	return n
}

// interrupt makes a reader that waits look around.
func (r *ring) interrupt() { _ = r.file.SetReadDeadline(time.Unix(1, 0)) }

// rearm undoes interrupt.
func (r *ring) rearm() { _ = r.file.SetReadDeadline(time.Time{}) }

// close unmaps the ring. No reader may be in it.
func (r *ring) close() {
	if r.mem != nil {
		_ = unix.Munmap(r.mem)
		r.mem, r.slots, r.held = nil, nil, 0
	}
	_ = r.file.Close()
}

// join asks a device for the multicast that HELLO goes to.
func join(fd, ifindex int) error {
	mreq := unix.PacketMreq{Ifindex: int32(ifindex), Type: unix.PACKET_MR_MULTICAST, Alen: 6}
	copy(mreq.Address[:], helloMAC[:])
	return unix.SetsockoptPacketMreq(fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, &mreq)
}
