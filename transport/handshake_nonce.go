// SPDX-License-Identifier: Apache-2.0

package transport

// Numbers of the handshake (docs/protocol.md 7).
const (
	helloInterval    = 100 * Millisecond  // while a rail is missing
	helloIdle        = 1 * Second         // else
	hurryInterval    = 50 * Millisecond   // tuning: between HELLOs that something asked for
	edgeLife         = 3500 * Millisecond // tuning: three idle HELLOs may be lost
	offerPatience    = 1 * Second         // tuning: an offer unanswered for so long gives way
	doubtTime        = 5 * Second         // tuning: to other pairs, for so long
	sweepInterval    = 500 * Millisecond  // tuning
	ghostTime        = 2 * Second         // tuning: an epoch heard so long after its end lives on another machine
	noticeDelay      = 1 * Second         // tuning: another endpoint may yet serve us
	noticeLife       = 10 * Second        // tuning
	resetsPerSecond  = 10                 // per device
	answersPerSecond = 1000               // tuning: HELLO_ACK and CONFIRM per device
	answersBurst     = 64                 // tuning
	noncesKept       = 4
	deadEpochs       = 4   // tuning: epochs per peer that are known to have ended
	peersMost        = 256 // bound of the table
	edgesMost        = 256 // per association
	noticesMost      = 64
)

// nonce is one we have sent. Serials rise over all devices.
type nonce struct{ value, serial uint64 }

// nonces are a device's last ones, the newest first.
type nonces [noncesKept]nonce

// draw makes a fresh nonce the newest.
func (h *Handshake) draw(d *attached) nonce {
	value := h.cfg.Random()
	for value == 0 { // 0 is the echo of a HELLO
		value = h.cfg.Random()
	}
	h.serial++
	copy(d.nonces[1:], d.nonces[:noncesKept-1])
	d.nonces[0] = nonce{value, h.serial}
	return d.nonces[0]
}

// freshAfter gives the newest nonce if it is newer than serial, else a fresh
// one.
func (h *Handshake) freshAfter(d *attached, serial uint64) nonce {
	if n := d.nonces[0]; n.serial > serial {
		return n
	}
	return h.draw(d)
}

// find gives the serial of an echoed nonce, or 0.
func (n *nonces) find(echo uint64) uint64 {
	for _, known := range n {
		if known.serial != 0 && known.value == echo {
			return known.serial
		}
	}
	return 0
}

// bucket limits a rate.
type bucket struct {
	tokens, burst int
	each          Time // per token
	at            Time // up to which tokens were given
}

func newBucket(now Time, perSecond, burst int) bucket {
	return bucket{tokens: burst, burst: burst, each: Second / Time(perSecond), at: now}
}

// take reports whether one more is allowed now.
func (b *bucket) take(now Time) bool {
	fresh := (now - b.at) / b.each
	b.at += fresh * b.each
	b.tokens = int(min(Time(b.burst), Time(b.tokens)+fresh))
	if b.tokens == 0 {
		return false
	}
	b.tokens--
	return true
}
