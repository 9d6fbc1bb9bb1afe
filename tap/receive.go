// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tbnet2/tbnet2/fabric"
	"github.com/tbnet2/tbnet2/transport"
	"github.com/tbnet2/tbnet2/wire"
)

// receiver writes what the port delivers to the netdev. The port calls it from
// one goroutine at a time, so its scratch needs no lock.
type receiver struct {
	d    *Device
	port fabric.Port

	writeAll func(fd uintptr) bool // made once, so that a batch allocates nothing
	batch    []transport.Delivery
	header   [wire.OffloadLen]byte // the first vnetLen bytes go to the kernel
	iov      [2]unix.Iovec
}

func newReceiver(d *Device, port fabric.Port) *receiver {
	r := &receiver{d: d, port: port}
	r.writeAll = r.write
	r.iov[0].Base = &r.header[0]
	r.iov[0].SetLen(vnetLen)
	return r
}

// deliver is the port's handler.
func (r *receiver) deliver(batch []transport.Delivery) {
	r.batch = batch
	if r.d.conn.Write(r.writeAll) != nil {
		r.d.count.rxClosed.Add(uint64(len(batch)))
	}
	r.batch = nil
	r.iov[1].Base = nil
	for i := range batch {
		if b := batch[i].Buf; b != nil {
			r.port.Release(b)
		}
	}
}

func (r *receiver) write(fd uintptr) bool {
	for i := range r.batch {
		r.one(fd, &r.batch[i])
	}
	return true
}

func (r *receiver) one(fd uintptr, v *transport.Delivery) {
	c := &r.d.count
	if len(v.Data) < ethLen {
		c.rxShort.inc()
		return
	}
	if v.HasOffload && checkOffload(v.Data, &v.Offload) != nil {
		c.rxBadOffload.inc()
		return
	}
	putVnet(&r.header, v.HasOffload, &v.Offload)
	r.iov[1].Base = unsafe.SliceData(v.Data)
	r.iov[1].SetLen(len(v.Data))
	if errno := r.writev(fd); errno != 0 {
		r.failed(errno)
		return
	}
	c.rxPackets.inc()
	c.rxBytes.Add(uint64(len(v.Data)))
	if v.HasOffload && v.Offload.GSOType != wire.GSONone {
		c.rxSuper.inc()
	}
}

func (r *receiver) writev(fd uintptr) unix.Errno {
	for {
		_, _, errno := unix.Syscall(unix.SYS_WRITEV, fd, uintptr(unsafe.Pointer(&r.iov[0])), uintptr(len(r.iov)))
		if errno != unix.EINTR {
			return errno
		}
	}
}

func (r *receiver) failed(errno unix.Errno) {
	c := &r.d.count
	switch errno {
	case unix.EAGAIN, unix.ENOBUFS, unix.ENOMEM:
		c.rxBusy.inc()
	case unix.EIO:
		c.rxDown.inc()
	default:
		c.rxErrors.inc()
	}
}
