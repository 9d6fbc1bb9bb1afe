// SPDX-License-Identifier: Apache-2.0

package transport

// entry is one rail sequence that was used up and is not yet decided.
type entry struct {
	packet *Packet // nil where nothing is to be sent again
	off, n int32   // its range
	size   int32   // frame bytes
	flags  entryFlag
	marks  uint16 // channels whose POSITION it carries
	sentAt Time
	start  uint64 // bytes sent on the rail before it
}

type entryFlag uint8

const (
	entryAckNow entryFlag = 1 << iota // asked for an ack at once: its round trip is a true one
	entryResent
)

// ledger is the ring of a rail's undecided sequences [una, next).
type ledger struct {
	ring      []entry // length a power of two
	una, next Seq
	bytes     uint64 // sent on the rail, ever
	inFlight  int    // bytes of undecided entries
}

func (l *ledger) at(s Seq) *entry { return &l.ring[int(s)&(len(l.ring)-1)] }

func (l *ledger) len() int { return int(l.next - l.una) }

// room makes place for one more entry, or reports that there is none.
func (l *ledger) room() bool {
	n := l.len()
	if n < len(l.ring) {
		return true
	}
	if n >= ledgerMost {
		return false
	}
	grown := make([]entry, max(ledgerFirst, 2*len(l.ring)))
	for s := l.una; s != l.next; s++ {
		grown[int(s)&(len(grown)-1)] = *l.at(s)
	}
	l.ring = grown
	return true
}

// push uses up a sequence. room() was true.
func (l *ledger) push(e entry) {
	e.start = l.bytes
	*l.at(l.next) = e
	l.next++
	l.bytes += uint64(e.size)
	l.inFlight += int(e.size)
}

// popNewest takes back the newest sequence, which was not sent.
func (l *ledger) popNewest() entry {
	l.next--
	e := l.at(l.next)
	l.bytes = e.start
	l.inFlight -= int(e.size)
	out := *e
	*e = entry{}
	return out
}

// popOldest takes the oldest sequence off.
func (l *ledger) popOldest() entry {
	e := l.at(l.una)
	l.una++
	l.inFlight -= int(e.size)
	out := *e
	e.packet = nil
	return out
}

// startOf gives the bytes sent on the rail before sequence s, which is in
// [una, next].
func (l *ledger) startOf(s Seq) uint64 {
	if s == l.next {
		return l.bytes
	}
	return l.at(s).start
}
