// SPDX-License-Identifier: Apache-2.0

package packet

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tbnet2/tbnet2/rail"
)

// sendBatch is how many frames go into one sendmmsg.
const sendBatch = 64

// sendBuffer is the socket's send buffer, bytes: several superpackets.
const sendBuffer = 8 << 20

// mmsghdr is struct mmsghdr.
type mmsghdr struct {
	hdr unix.Msghdr
	n   uint32
	_   [4]byte
}

// sender is a socket that frames leave by. One goroutine uses it.
type sender struct {
	file   *os.File
	raw    syscall.RawConn
	ether  [sendBatch][etherHeaderLen]byte
	iovecs []unix.Iovec
	msgs   [sendBatch]mmsghdr
	pin    *pin // nil: the device has one transmit queue
	// Arguments and results of the call that raw.Write makes, so that its
	// function captures nothing.
	count int
	sent  int
	errno unix.Errno
	call  func(fd uintptr) bool
}

func openSender(ifindex int, mac rail.MAC, bypass bool) (s *sender, err error) {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("socket: %w (CAP_NET_RAW is needed)", err)
	}
	s = &sender{file: os.NewFile(uintptr(fd), "packet")}
	defer func() {
		if err != nil {
			_ = s.file.Close()
		}
	}()
	if bypass {
		if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_QDISC_BYPASS, 1); err != nil {
			return nil, fmt.Errorf("qdisc bypass: %w", err)
		}
	}
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, sendBuffer) != nil {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, sendBuffer) // as much as the limit gives
	}
	// Protocol 0: the socket receives nothing.
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Ifindex: ifindex}); err != nil {
		return nil, fmt.Errorf("bind: %w", err)
	}
	if s.raw, err = s.file.SyscallConn(); err != nil {
		return nil, err
	}
	s.setMAC(mac)
	s.call = s.sendmmsg
	return s, nil
}

// setMAC sets the address that frames come from.
func (s *sender) setMAC(mac rail.MAC) {
	for i := range s.ether {
		copy(s.ether[i][6:], mac[:])
		s.ether[i][12], s.ether[i][13] = etherType>>8, etherType&0xff
	}
}

// send sends up to sendBatch frames and returns how many left.
func (s *sender) send(frames []rail.TxFrame) (n int, errno unix.Errno, err error) {
	s.prepare(frames)
	if s.pin != nil {
		s.pin.enter()
		defer s.pin.leave()
	}
	if err := s.raw.Write(s.call); err != nil {
		return 0, 0, err
	}
	clear(s.iovecs) // nothing keeps the caller's bytes alive
	return s.sent, s.errno, nil
}

// prepare lays out the messages of a batch.
func (s *sender) prepare(frames []rail.TxFrame) {
	need := 0
	for i := range frames {
		need += 2 + len(frames[i].Body)
	}
	if cap(s.iovecs) < need {
		s.iovecs = make([]unix.Iovec, 0, 2*need) // full before addresses are taken
	}
	s.iovecs = s.iovecs[:0]
	for i := range frames {
		f := &frames[i]
		copy(s.ether[i][:6], f.To[:])
		first := len(s.iovecs)
		s.add(s.ether[i][:])
		s.add(f.Head)
		for _, part := range f.Body {
			s.add(part)
		}
		s.msgs[i].hdr = unix.Msghdr{Iov: &s.iovecs[first]}
		s.msgs[i].hdr.SetIovlen(len(s.iovecs) - first)
	}
	s.count = len(frames)
}

func (s *sender) add(b []byte) {
	if len(b) == 0 {
		return
	}
	v := unix.Iovec{Base: &b[0]}
	v.SetLen(len(b))
	s.iovecs = append(s.iovecs, v)
}

// sendmmsg makes the call; it never asks to wait.
func (s *sender) sendmmsg(fd uintptr) bool {
	for {
		n, _, errno := unix.Syscall6(unix.SYS_SENDMMSG, fd, uintptr(unsafe.Pointer(&s.msgs[0])), uintptr(s.count), 0, 0, 0)
		if errno == unix.EINTR {
			continue
		}
		s.errno, s.sent = errno, 0
		if errno == 0 {
			s.sent = int(n)
		}
		return true
	}
}
