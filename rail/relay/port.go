// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// Sizes in bytes and frames.
const (
	batch      = 32 // frames in one system call
	vnetLen    = 10 // virtio_net_hdr of a packet socket
	etherLen   = 14
	frameMost  = vnetLen + etherLen + 4 + 65535
	socketSize = 16 << 20
)

// buffer holds one frame behind its virtio_net_hdr.
type buffer struct {
	data [frameMost]byte
	n    int
}

var buffers = sync.Pool{New: func() any { return new(buffer) }}

func (b *buffer) recycle() { buffers.Put(b) }

// payload is the frame's length after the Ethernet header.
func (b *buffer) payload() int { return max(1, b.n-vnetLen-etherLen) }

func (b *buffer) clone() *buffer {
	c := buffers.Get().(*buffer)
	c.n = copy(c.data[:], b.data[:b.n])
	return c
}

// flip turns one bit of the payload.
func (b *buffer) flip(bit int) { b.data[vnetLen+etherLen+bit/8] ^= 1 << (bit % 8) }

// mmsghdr is struct mmsghdr.
type mmsghdr struct {
	hdr unix.Msghdr
	n   uint32
	_   [4]byte
}

// vector is the arguments of one recvmmsg or sendmmsg.
type vector struct {
	iov [batch]unix.Iovec
	msg [batch]mmsghdr
}

func (v *vector) set(i int, b []byte) {
	v.iov[i].Base = &b[0]
	v.iov[i].SetLen(len(b))
	v.msg[i].hdr = unix.Msghdr{Iov: &v.iov[i]}
	v.msg[i].hdr.SetIovlen(1)
}

// port is a device seen by the relay. One goroutine receives, one sends.
type port struct {
	file   *os.File
	raw    syscall.RawConn
	rx, tx vector
	missed atomic.Uint64 // frames that came and found the socket's buffer full
}

// openPort opens a device for all protocols.
func openPort(ns int, name string) (p *port, err error) {
	result := make(chan struct{})
	go func() {
		defer close(result)
		if ns == 0 {
			p, err = openHere(name)
			return
		}
		p, err = openIn(netns.NsHandle(ns), name)
	}()
	<-result
	return p, err
}

// openIn opens a device in a network namespace and goes back: the process's
// first thread never ends, and would keep the namespace.
func openIn(ns netns.NsHandle, name string) (*port, error) {
	runtime.LockOSThread()
	home, err := netns.Get()
	if err != nil {
		runtime.UnlockOSThread()
		return nil, err
	}
	defer home.Close()
	if err := netns.Set(ns); err != nil {
		runtime.UnlockOSThread()
		return nil, fmt.Errorf("enter network namespace: %w", err)
	}
	p, err := openHere(name)
	if netns.Set(home) == nil { // else the thread ends with the goroutine
		runtime.UnlockOSThread()
	}
	return p, err
}

func openHere(name string) (*port, error) {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return nil, err
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("socket: %w (CAP_NET_RAW is needed)", err)
	}
	p := &port{file: os.NewFile(uintptr(fd), name)}
	if err := p.prepare(fd, link.Attrs().Index); err != nil {
		p.close()
		return nil, err
	}
	p.raw, err = p.file.SyscallConn()
	return p, err
}

func (p *port) prepare(fd, ifindex int) error {
	for _, opt := range []int{unix.PACKET_IGNORE_OUTGOING, unix.PACKET_VNET_HDR, unix.PACKET_QDISC_BYPASS} {
		if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, opt, 1); err != nil {
			return fmt.Errorf("packet option %d: %w", opt, err)
		}
	}
	for _, o := range [][2]int{{unix.SO_RCVBUFFORCE, unix.SO_RCVBUF}, {unix.SO_SNDBUFFORCE, unix.SO_SNDBUF}} {
		if unix.SetsockoptInt(fd, unix.SOL_SOCKET, o[0], socketSize) != nil {
			_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, o[1], socketSize) // as much as the limit gives
		}
	}
	mreq := unix.PacketMreq{Ifindex: int32(ifindex), Type: unix.PACKET_MR_PROMISC}
	if err := unix.SetsockoptPacketMreq(fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, &mreq); err != nil {
		return fmt.Errorf("promiscuous: %w", err)
	}
	const all = unix.ETH_P_ALL
	err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all<<8 | all>>8, Ifindex: ifindex})
	if err != nil {
		return fmt.Errorf("bind: %w", err)
	}
	return nil
}

// recv fills bufs with frames that have come, at least one; false when the
// port is interrupted.
func (p *port) recv(bufs []*buffer) (n int, ok bool) {
	for i := range bufs {
		if bufs[i] == nil {
			bufs[i] = buffers.Get().(*buffer)
		}
		p.rx.set(i, bufs[i].data[:])
	}
	for {
		var errno syscall.Errno
		err := p.raw.Read(func(fd uintptr) bool {
			n, errno = mmsg(unix.SYS_RECVMMSG, fd, &p.rx, len(bufs))
			return errno != unix.EAGAIN
		})
		if err != nil {
			return 0, false
		}
		if errno == 0 {
			break
		}
		if errno != unix.ENETDOWN && errno != unix.EINTR { // down: frames come again when it is up
			return 0, false
		}
	}
	for i := range n {
		bufs[i].n = int(p.rx.msg[i].n)
	}
	return n, true
}

// send sends and recycles bufs, and returns how many the device did not take.
func (p *port) send(bufs []*buffer) (unsent int) {
	for i, b := range bufs {
		p.tx.set(i, b.data[:b.n])
	}
	for at := 0; at < len(bufs); {
		var n int
		var errno syscall.Errno
		err := p.raw.Write(func(fd uintptr) bool {
			n, errno = mmsgAt(unix.SYS_SENDMMSG, fd, &p.tx, at, len(bufs)-at)
			return errno != unix.EAGAIN
		})
		switch {
		case err != nil:
			unsent += len(bufs) - at
			n = len(bufs) - at
		case errno == unix.EINTR:
		case errno != 0: // down, or too long
			unsent++
			n = 1
		}
		at += n
	}
	for _, b := range bufs {
		b.recycle()
	}
	return unsent
}

func mmsg(call, fd uintptr, v *vector, count int) (int, syscall.Errno) {
	return mmsgAt(call, fd, v, 0, count)
}

func mmsgAt(call, fd uintptr, v *vector, at, count int) (int, syscall.Errno) {
	n, _, errno := unix.Syscall6(call, fd, uintptr(unsafe.Pointer(&v.msg[at])), uintptr(count), unix.MSG_DONTWAIT, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}

// lost gives the frames that the kernel had no room for. Reading its count
// clears it.
func (p *port) lost() uint64 {
	_ = p.raw.Control(func(fd uintptr) { // closed: what was read last stands
		if st, err := unix.GetsockoptTpacketStats(int(fd), unix.SOL_PACKET, unix.PACKET_STATISTICS); err == nil {
			p.missed.Add(uint64(st.Drops))
		}
	})
	return p.missed.Load()
}

// interrupt makes recv return.
func (p *port) interrupt() { _ = p.file.SetDeadline(time.Unix(1, 0)) }

func (p *port) close() { _ = p.file.Close() }
