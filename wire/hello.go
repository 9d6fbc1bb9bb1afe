// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"errors"
	"fmt"
	"math/bits"
	"strings"
	"unicode/utf8"
)

// Errors of ParseHello, beside ErrShort.
var (
	ErrTLVLength   = errors.New("wire: a TLV has the wrong length")
	ErrTLVTwice    = errors.New("wire: a TLV comes twice")
	ErrTLVMissing  = errors.New("wire: a required TLV is missing")
	ErrTLVCritical = errors.New("wire: a critical TLV is unknown")
	ErrTLVValue    = errors.New("wire: a TLV has a value that cannot be")
)

// Hello is the body of HELLO, HELLO_ACK and CONFIRM (docs/protocol.md 7).
type Hello struct {
	Nonce, Echo uint64
	Host        [16]byte // UUID
	Epoch       uint64
	Index       uint32 // that frames to the sender carry
	Service     Service
	VersionLow  uint8
	VersionHigh uint8
	Rail        uint8 // the sender's id for the rail, if HasRail
	HasRail     bool
	Group       uint64
	MTU         uint32 // bytes of a frame after the Ethernet header
	Rate        uint64 // bits per second, 0 unknown
	Caps        Caps
	Slots       uint32 // packets per channel that may be open, a power of two; 0: not told
	Name        string
}

// required TLVs, as bits of a set of types.
const required = 1<<TLVHost | 1<<TLVEpoch | 1<<TLVIndex | 1<<TLVService | 1<<TLVVersions | 1<<TLVMTU | 1<<TLVCaps

// AppendHello adds the body of h to b. Of a name only what a peer takes is
// sent: valid UTF-8, cut between characters at HostNameMax bytes.
func AppendHello(b []byte, h *Hello) []byte {
	b = le.AppendUint64(b, h.Nonce)
	b = le.AppendUint64(b, h.Echo)
	b = append(appendTLV(b, TLVHost, 16), h.Host[:]...)
	b = le.AppendUint64(appendTLV(b, TLVEpoch, 8), h.Epoch)
	b = le.AppendUint32(appendTLV(b, TLVIndex, 4), h.Index)
	b = append(appendTLV(b, TLVService, 1), byte(h.Service))
	b = append(appendTLV(b, TLVVersions, 2), h.VersionLow, h.VersionHigh)
	if h.HasRail {
		b = append(appendTLV(b, TLVRail, 1), h.Rail)
	}
	b = le.AppendUint64(appendTLV(b, TLVGroup, 8), h.Group)
	b = le.AppendUint32(appendTLV(b, TLVMTU, 4), h.MTU)
	b = le.AppendUint64(appendTLV(b, TLVRate, 8), h.Rate)
	b = le.AppendUint32(appendTLV(b, TLVCaps, 4), uint32(h.Caps))
	if h.Slots != 0 {
		b = le.AppendUint32(appendTLV(b, TLVSlots, 4), h.Slots)
	}
	name := sentName(h.Name)
	return append(appendTLV(b, TLVName, len(name)), name...)
}

func sentName(name string) string {
	name = strings.ToValidUTF8(name, "?")
	if len(name) <= HostNameMax {
		return name
	}
	end := HostNameMax
	for !utf8.RuneStart(name[end]) {
		end--
	}
	return name[:end]
}

func appendTLV(b []byte, t byte, length int) []byte { return append(b, t, byte(length)) }

// ParseHello reads a body into h, of which nothing is kept on error but what
// was read so far. Unknown TLVs are passed over unless they are critical.
// Versions and services are left for the caller to compare. Errors wrap
// ErrShort or one of those above and name the TLV.
func ParseHello(body []byte, h *Hello) error {
	if len(body) < HelloLen {
		return ErrShort
	}
	*h = Hello{Nonce: le.Uint64(body), Echo: le.Uint64(body[8:])}
	seen := uint32(0) // bits by type
	for body = body[HelloLen:]; len(body) > 0; {
		if len(body) < TLVLen || len(body) < TLVLen+int(body[1]) {
			return ErrShort
		}
		t, value := body[0], body[TLVLen:TLVLen+int(body[1])]
		body = body[TLVLen+len(value):]
		kind := t &^ TLVCritical
		if kind == 0 || kind > TLVName {
			if t&TLVCritical != 0 {
				return fmt.Errorf("%w: type %d", ErrTLVCritical, kind)
			}
			continue
		}
		if seen>>kind&1 != 0 {
			return fmt.Errorf("%w: type %d", ErrTLVTwice, kind)
		}
		seen |= 1 << kind
		if err := h.set(kind, value); err != nil {
			return fmt.Errorf("%w: type %d", err, kind)
		}
	}
	if missing := uint32(required) &^ seen; missing != 0 {
		return fmt.Errorf("%w: type %d", ErrTLVMissing, bits.TrailingZeros32(missing))
	}
	return nil
}

// tlvLengths are the lengths of the values; a name's varies.
var tlvLengths = [TLVName]int{TLVHost: 16, TLVEpoch: 8, TLVIndex: 4, TLVService: 1, TLVVersions: 2,
	TLVRail: 1, TLVGroup: 8, TLVMTU: 4, TLVRate: 8, TLVCaps: 4, TLVSlots: 4}

// set takes one TLV of a known type.
func (h *Hello) set(kind byte, v []byte) error {
	if kind == TLVName {
		if len(v) > HostNameMax || !utf8.Valid(v) {
			return ErrTLVValue
		}
		h.Name = string(v)
		return nil
	}
	if len(v) != tlvLengths[kind] {
		return ErrTLVLength
	}
	switch kind {
	case TLVHost:
		copy(h.Host[:], v)
	case TLVEpoch:
		h.Epoch = le.Uint64(v)
	case TLVIndex:
		if h.Index = le.Uint32(v); h.Index>>8 == 0 {
			return ErrTLVValue
		}
	case TLVService:
		h.Service = Service(v[0])
	case TLVVersions:
		if h.VersionLow, h.VersionHigh = v[0], v[1]; v[0] > v[1] {
			return ErrTLVValue
		}
	case TLVRail:
		if h.Rail, h.HasRail = v[0], true; v[0] >= RailsMax {
			return ErrTLVValue
		}
	case TLVGroup:
		h.Group = le.Uint64(v)
	case TLVMTU:
		h.MTU = le.Uint32(v)
	case TLVRate:
		h.Rate = le.Uint64(v)
	case TLVCaps:
		h.Caps = Caps(le.Uint32(v))
	case TLVSlots:
		if h.Slots = le.Uint32(v); h.Slots == 0 || h.Slots&(h.Slots-1) != 0 || h.Slots > 1<<16 {
			return ErrTLVValue
		}
	}
	return nil
}
