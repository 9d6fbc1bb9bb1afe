// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/tbnet2/tbnet2/fabric"
	"github.com/tbnet2/tbnet2/transport"
	"github.com/tbnet2/tbnet2/wire"
)

// batchMax is after how many packets the port is flushed though the netdev has
// more: enough that a system call's cost is shared, few enough that the rails
// do not fall idle.
const batchMax = 16

// sender moves frames from the netdev to the port, on one goroutine.
type sender struct {
	d          *Device
	port       fabric.Port
	big, small *slots
	pending    int // packets sent since the last flush

	// What read passes to its callback and back; the callback is made once,
	// so that a read allocates nothing.
	readOnce func(fd uintptr) bool
	buf      []byte
	n        int
	err      error
}

func newSender(d *Device, port fabric.Port) *sender {
	s := &sender{d: d, port: port, big: newSlots(bigSlots, bigLen), small: newSlots(smallSlots, smallLen)}
	s.readOnce = s.tryRead
	return s
}

// run returns why it ended.
func (s *sender) run() error {
	for {
		if err := s.step(); err != nil {
			return err
		}
	}
}

// step moves one frame.
func (s *sender) step() error {
	sl := s.slot()
	if sl == nil {
		return ErrClosed
	}
	n, err := s.read(sl.buf)
	if err != nil {
		return s.readError(err)
	}
	if n < vnetLen+ethLen {
		s.d.count.txShort.inc()
		s.big.put(sl)
		return nil
	}
	return s.send(s.shrink(sl, n), n)
}

// slot gives memory for the largest frame, waiting for one in the port's hands
// if need be.
func (s *sender) slot() *slot {
	if sl := s.big.tryGet(); sl != nil {
		return sl
	}
	s.d.count.txNoSlot.inc()
	s.flush()
	return s.big.get(s.d.closing)
}

// shrink moves a small frame to small memory, if there is any.
func (s *sender) shrink(sl *slot, n int) *slot {
	if n > smallLen {
		return sl
	}
	small := s.small.tryGet()
	if small == nil {
		return sl
	}
	copy(small.buf, sl.buf[:n])
	s.big.put(sl)
	return small
}

// send gives the frame in sl to the port and waits while that is full. The
// error is ErrClosed's or the port's end.
func (s *sender) send(sl *slot, n int) error {
	p := sl.load(n)
	super := p.HasOffload && p.Offload.GSOType != wire.GSONone // p may be gone after Send
	for {
		err := s.port.Send(p)
		switch {
		case err == nil:
			s.sent(n-vnetLen, super)
			return nil
		case errors.Is(err, fabric.ErrFull):
			if err := s.wait(); err != nil {
				return err
			}
		case errors.Is(err, fabric.ErrClosed):
			return err
		default:
			s.d.count.txRefused.inc()
			p.Done(p, transport.Aborted) // ours again
			return nil
		}
	}
}

func (s *sender) sent(bytes int, super bool) {
	s.d.count.txPackets.inc()
	s.d.count.txBytes.Add(uint64(bytes))
	if super {
		s.d.count.txSuper.inc()
	}
	if s.pending++; s.pending >= batchMax {
		s.flush()
	}
}

// wait lets a full port drain.
func (s *sender) wait() error {
	s.d.count.txFull.inc()
	s.flush()
	if err := s.port.WaitSend(); err != nil {
		return err
	}
	select {
	case <-s.d.closing:
		return ErrClosed
	default:
		return nil
	}
}

func (s *sender) flush() {
	s.pending = 0
	s.port.Flush()
}

// read reads one frame with its header, and waits for one.
func (s *sender) read(buf []byte) (int, error) {
	s.buf = buf
	if err := s.d.conn.Read(s.readOnce); err != nil {
		return 0, err
	}
	return s.n, s.err
}

// tryRead returns false to wait until the netdev has a frame. It flushes
// before, in the callback: the poller remembers a frame that comes meanwhile,
// so that nothing has to be read again in vain.
func (s *sender) tryRead(fd uintptr) bool {
	for {
		s.n, s.err = unix.Read(int(fd), s.buf)
		if s.err != unix.EINTR {
			break
		}
	}
	if s.err != unix.EAGAIN {
		return true
	}
	if s.pending > 0 {
		s.flush()
	}
	return false
}

func (s *sender) readError(err error) error {
	select {
	case <-s.d.closing:
		return ErrClosed
	default:
	}
	if errors.Is(err, unix.EBADFD) {
		return fmt.Errorf("tap %s: the device was deleted", s.d.cfg.Name)
	}
	return fmt.Errorf("tap %s: read: %w", s.d.cfg.Name, err)
}
