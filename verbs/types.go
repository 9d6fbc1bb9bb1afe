// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"errors"

	"github.com/google/uuid"
)

// GID is a port address, as in InfiniBand: 16 bytes, network order.
type GID [16]byte

// HostGID gives the link-local GID of a host's UUID.
func HostGID(host uuid.UUID) GID {
	var g GID
	g[0], g[1] = 0xfe, 0x80
	copy(g[8:], host[8:])
	return g
}

// Access are the rights to a memory region or a queue pair.
type Access uint32

// Rights, with the values of ibv_access_flags. Local reading is always allowed.
const (
	LocalWrite Access = 1 << iota
	RemoteWrite
	RemoteRead
	RemoteAtomic
	accessKnown Access = 1<<iota - 1
)

// Status says how a work request ended, with the values of ibv_wc_status.
type Status uint32

// Statuses.
const (
	Success             Status = 0
	LocalLengthError    Status = 1
	LocalQPError        Status = 2
	LocalProtection     Status = 4
	FlushError          Status = 5
	BadResponse         Status = 7
	RemoteInvalid       Status = 9
	RemoteAccessError   Status = 10
	RemoteOperationErr  Status = 11
	RetryExceeded       Status = 12
	RNRRetryExceeded    Status = 13
	RemoteAbortedStatus Status = 16
)

var statusNames = map[Status]string{Success: "success", LocalLengthError: "local length error",
	LocalQPError: "local QP operation error", LocalProtection: "local protection error",
	FlushError: "work request flushed", BadResponse: "bad response", RemoteInvalid: "remote invalid request",
	RemoteAccessError: "remote access error", RemoteOperationErr: "remote operation error",
	RetryExceeded: "transport retry counter exceeded", RNRRetryExceeded: "RNR retry counter exceeded",
	RemoteAbortedStatus: "remote aborted"}

// String names the status.
func (s Status) String() string {
	if name, ok := statusNames[s]; ok {
		return name
	}
	return "unknown status"
}

// Opcode is a kind of work request, with the values of ibv_wr_opcode.
type Opcode uint32

// Opcodes.
const (
	OpWrite Opcode = iota
	OpWriteImm
	OpSend
	OpSendImm
	OpRead
	OpCompareSwap
	OpFetchAdd
	opEnd
)

// WCOpcode says what completed, with the values of ibv_wc_opcode.
type WCOpcode uint32

// What completes.
const (
	WCSend        WCOpcode = 0
	WCWrite       WCOpcode = 1
	WCRead        WCOpcode = 2
	WCCompareSwap WCOpcode = 3
	WCFetchAdd    WCOpcode = 4
	WCRecv        WCOpcode = 128
	WCRecvImm     WCOpcode = 129
)

var completes = [opEnd]WCOpcode{WCWrite, WCWrite, WCSend, WCSend, WCRead, WCCompareSwap, WCFetchAdd}

// SendFlags change a send request, with the values of ibv_send_flags.
type SendFlags uint32

// Flags of a send request.
const (
	Fence SendFlags = 1 << iota
	Signaled
	Solicited
	Inline
)

// SGE is a piece of registered local memory.
type SGE struct {
	Addr   uint64
	Length uint32
	LKey   uint32
}

// SendWR is a request to a send queue.
type SendWR struct {
	ID         uint64
	Op         Opcode
	Flags      SendFlags
	SGE        []SGE
	InlineData []byte // the content with flag Inline, instead of SGE; copied by PostSend
	Imm        uint32
	RemoteAddr uint64
	RKey       uint32
	CompareAdd uint64
	Swap       uint64
	AH         *AH    // UD: where to
	RemoteQPN  uint32 // UD
	RemoteQKey uint32 // UD
}

// RecvWR is a request to a receive queue.
type RecvWR struct {
	ID  uint64
	SGE []SGE
}

// WC is a work completion. After an error only ID, Status and QPN count.
type WC struct {
	ID     uint64
	Status Status
	Opcode WCOpcode
	Bytes  uint32
	Imm    uint32
	HasImm bool
	HasGRH bool // UD: the first 40 bytes of the receive are the sender's address
	QPN    uint32
	SrcQPN uint32
}

// Errors of the calls.
var (
	ErrInvalid = errors.New("verbs: invalid argument")
	ErrState   = errors.New("verbs: the queue pair's state does not allow it")
	ErrFull    = errors.New("verbs: the queue is full")
	ErrBusy    = errors.New("verbs: still in use")
	ErrQuota   = errors.New("verbs: quota used up")
	ErrClosed  = errors.New("verbs: device is closed")
	ErrNoPeer  = errors.New("verbs: no host has this address")
)

// EventKind is a kind of asynchronous event, with the values of ibv_event_type.
type EventKind uint32

// Events.
const (
	EventCQError        EventKind = 0
	EventQPFatal        EventKind = 1
	EventQPAccess       EventKind = 3
	EventPortActive     EventKind = 9
	EventPortError      EventKind = 10
	EventSRQLimit       EventKind = 15
	EventLastWQEReached EventKind = 16
	eventsKept                    = 256
)

// Event is an asynchronous event. The object it is about is set.
type Event struct {
	Kind EventKind
	QP   *QP
	CQ   *CQ
	SRQ  *SRQ
}
