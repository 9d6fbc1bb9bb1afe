// SPDX-License-Identifier: Apache-2.0

// Package rail defines the local attachment over which frames reach other
// hosts. Implementations live below it: mem (a seeded link model), packet
// (AF_PACKET on an Ethernet device); railtest holds the contract they pass.
package rail

import (
	"errors"
	"fmt"
)

// ErrClosed is returned by every method after Close.
var ErrClosed = errors.New("rail: device closed")

// ErrAgain is returned by Send when the device takes no more frames for now:
// back pressure, not loss. The caller keeps the frames and tries again after
// WaitSend.
var ErrAgain = errors.New("rail: device busy")

// MAC is an Ethernet address. Point-to-point devices have one too.
type MAC [6]byte

// String gives the usual colon form.
func (m MAC) String() string {
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5])
}

// OpError says which operation failed on which device.
type OpError struct {
	Op     string // "open", "send", "recv", ...
	Device string
	Err    error
}

// Error implements error.
func (e *OpError) Error() string { return fmt.Sprintf("rail %s: %s: %v", e.Device, e.Op, e.Err) }

// Unwrap gives the cause.
func (e *OpError) Unwrap() error { return e.Err }

// Info describes a device as it is now.
type Info struct {
	Name    string // interface name, or the simulation's name
	MAC     MAC
	MTU     int    // bytes of one frame after the Ethernet header
	Rate    uint64 // bits per second, 0 where unknown
	Group   uint64 // equal for devices on one cable or switch segment
	Carrier bool
	Ring    int  // bytes of receive ring
	LinkCRC bool // the link has a CRC of its own, so frames need none
}

// TxFrame is one frame to send: the concatenation of Head and Body after the
// Ethernet header, which the device writes. The device has finished with all
// bytes when Send returns.
type TxFrame struct {
	To   MAC
	Head []byte
	Body [][]byte // may be empty
}

// RxFrame is one received frame. Data begins after the Ethernet header, may
// have padding at its end, and is valid until the next Recv on the device.
type RxFrame struct {
	From MAC
	Data []byte
}

// Device is a local attachment. Send and Recv may run at the same time, but
// each is called by one goroutine at a time.
type Device interface {
	// Info may be called from any goroutine.
	Info() Info
	// Send queues frames in order and never blocks. It returns how many it
	// took; with n < len(frames) the error is ErrAgain, ErrClosed or an
	// *OpError, and frames[n:] were not sent.
	Send(frames []TxFrame) (n int, err error)
	// WaitSend blocks until Send may take a frame again, or the device closes.
	WaitSend() error
	// Recv blocks until at least one frame has come and fills frames with as
	// many as are there. It returns ErrClosed after Close. A device without
	// carrier blocks; it does not fail.
	Recv(frames []RxFrame) (n int, err error)
	// Changed delivers a value after Info has changed (carrier, MTU, rate).
	// Values coalesce: read Info again.
	Changed() <-chan struct{}
	// Stats may be called from any goroutine.
	Stats() Stats
	// Close is idempotent; it wakes Recv and WaitSend.
	Close() error
}

// Stats are totals since the device was opened.
type Stats struct {
	TxFrames, TxBytes uint64
	TxBusy            uint64 // times Send returned ErrAgain
	TxErrors          uint64
	RxFrames, RxBytes uint64
	RxDropped         uint64 // lost because the receive ring was full
	RxErrors          uint64 // frames cut short or unreadable
}
