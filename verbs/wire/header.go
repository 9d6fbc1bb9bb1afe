// SPDX-License-Identifier: Apache-2.0

// Package wire holds the messages that verbs engines send each other, as
// docs/verbs-protocol.md defines them: the bytes only, no state.
package wire

import (
	"encoding/binary"
	"errors"
)

// HeaderLen is the length of a header in bytes: the transport's unit, so that
// no cut of a packet can divide it.
const HeaderLen = 64

// Limits of the fields.
const (
	Version    = 1
	Mark       = 0x88b6  // where an Ethernet frame has its type; big-endian
	QPNMax     = 1 << 24 // queue pair numbers are below
	MaxMessage = 1 << 30 // bytes of a message
	// MessagesOpen is how many messages of a queue pair may be under way.
	MessagesOpen = 1024
	// AtomicLen is the payload of an atomic request: compare or add, then swap.
	AtomicLen = 16
	// DatagramMax is the longest datagram in bytes.
	DatagramMax = 4096
)

// Op says what a packet is.
type Op uint8

// Ops.
const (
	Send Op = iota + 1
	Write
	ReadRequest
	ReadResponse
	CompareSwap
	FetchAdd
	AtomicResponse
	Ack
	Nak
	Datagram
	opEnd
)

// String names the op.
func (o Op) String() string {
	if o == 0 || o >= opEnd {
		return "unknown"
	}
	return [...]string{"", "send", "write", "read_request", "read_response", "compare_swap", "fetch_add",
		"atomic_response", "ack", "nak", "datagram"}[o]
}

// Flags of a packet.
const (
	FlagImmediate  = 1 << iota // Imm counts
	FlagSolicited              // the completion is solicited
	FlagUnreliable             // of an unreliable connection: no answer
	flagsKnown     = 1<<iota - 1
)

// Syndrome says why a Nak was sent.
type Syndrome uint8

// Syndromes.
const (
	NotReady        Syndrome = iota + 1 // no receive is posted; Imm is the timer, microseconds
	InvalidRequest                      // against the rules, or longer than the receive
	RemoteAccess                        // key, rights or bounds
	RemoteOperation                     // the responder failed
	syndromeEnd
)

// Header begins every packet. Numbers are little-endian on the wire.
type Header struct {
	Dst, Src uint32 // queue pair numbers
	Message  uint32 // of the requester's queue pair, from 0; in an Ack: all before are done
	Op       Op
	Flags    uint8
	Attempt  uint8 // how often the message was sent before, modulo 256
	Syndrome Syndrome
	Length   uint32 // bytes of payload in this packet
	Receive  uint32 // which of the messages that take a receive this is, from 0
	Total    uint32 // bytes of the message
	Offset   uint32 // of this payload in the message
	Imm      uint32
	Addr     uint64 // where the message goes, or comes from, at the responder
	Key      uint32 // the memory's remote key; of a datagram the Q_Key
}

// Errors of Parse.
var (
	ErrShort   = errors.New("verbs: packet is shorter than its header says")
	ErrMark    = errors.New("verbs: packet is not a verbs packet of this version")
	ErrUnknown = errors.New("verbs: packet has an unknown op, flag or syndrome")
	ErrBounds  = errors.New("verbs: packet has a number out of its bounds")
)

var le = binary.LittleEndian

// Put writes h to b, which has at least HeaderLen bytes.
func (h *Header) Put(b []byte) {
	b = b[:HeaderLen]
	le.PutUint32(b[0:], h.Dst)
	le.PutUint32(b[4:], h.Src)
	le.PutUint32(b[8:], h.Message)
	binary.BigEndian.PutUint16(b[12:], Mark)
	b[14], b[15], b[16], b[17], b[18], b[19] = Version, byte(h.Op), h.Flags, h.Attempt, byte(h.Syndrome), 0
	le.PutUint32(b[20:], h.Length)
	le.PutUint32(b[24:], h.Receive)
	le.PutUint32(b[28:], h.Total)
	le.PutUint32(b[32:], h.Offset)
	le.PutUint32(b[36:], h.Imm)
	le.PutUint64(b[40:], h.Addr)
	le.PutUint32(b[48:], h.Key)
	clear(b[52:])
}

// Parse reads and checks the header at the start of a packet of total bytes,
// of which b holds at least HeaderLen.
func (h *Header) Parse(b []byte, total int) error {
	if len(b) < HeaderLen {
		return ErrShort
	}
	if binary.BigEndian.Uint16(b[12:]) != Mark || b[14] != Version {
		return ErrMark
	}
	*h = Header{Dst: le.Uint32(b[0:]), Src: le.Uint32(b[4:]), Message: le.Uint32(b[8:]),
		Op: Op(b[15]), Flags: b[16], Attempt: b[17], Syndrome: Syndrome(b[18]),
		Length: le.Uint32(b[20:]), Receive: le.Uint32(b[24:]), Total: le.Uint32(b[28:]), Offset: le.Uint32(b[32:]),
		Imm: le.Uint32(b[36:]), Addr: le.Uint64(b[40:]), Key: le.Uint32(b[48:])}
	if uint64(total) != HeaderLen+uint64(h.Length) {
		return ErrShort
	}
	if b[19] != 0 || h.Op == 0 || h.Op >= opEnd || h.Flags&^uint8(flagsKnown) != 0 {
		return ErrUnknown
	}
	return h.check()
}

// check holds h to the bounds of its op.
func (h *Header) check() error {
	if (h.Op == Nak) != (h.Syndrome != 0) || h.Syndrome >= syndromeEnd {
		return ErrUnknown
	}
	fits := h.Dst < QPNMax && h.Src < QPNMax && h.Total <= MaxMessage && h.Offset <= h.Total
	switch h.Op {
	case ReadRequest:
		fits = fits && h.Length == 0 && h.Offset == 0
	case Ack, Nak:
		fits = fits && h.Length == 0 && h.Total == 0
	case CompareSwap, FetchAdd:
		fits = fits && h.Length == AtomicLen && h.Total == AtomicLen && h.Addr%8 == 0
	case AtomicResponse:
		fits = fits && h.Length == 8 && h.Total == 8
	case Datagram:
		fits = fits && h.Length == h.Total && h.Total <= DatagramMax
	default: // a fragment: empty only if the message is
		fits = fits && h.Length <= h.Total-h.Offset && (h.Length > 0 || h.Total == 0)
	}
	if !fits {
		return ErrBounds
	}
	return nil
}

// TakesReceive reports whether the message uses up a posted receive.
func (h *Header) TakesReceive() bool {
	return h.Op == Send || h.Op == Datagram || h.Op == Write && h.Flags&FlagImmediate != 0
}
