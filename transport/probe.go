// SPDX-License-Identifier: Apache-2.0

package transport

// mtuProbe finds the largest frame that passes a rail: PINGs padded to a size
// are answered or not (docs/protocol.md 8). Times are on the running clock.
type mtuProbe struct {
	size  int // being tried; 0: nothing
	tries int
	first uint32 // stamp of the first PING of this size
	wait  Time   // until the next try
	due   Time
	down  bool // from a size that passed before: smaller ones follow
	fell  bool // a larger size did not pass
}

// probeSizes are tried below the rail's MTU.
var probeSizes = [...]int{16384, 9000, 4096, probeBase}

// probeRest is how long a rail stays with a smaller MTU before the larger ones
// are tried again.
const probeRest = 10 * Second

func newProbe(run Time, mtu int) mtuProbe {
	return mtuProbe{size: min(mtu, probeBase), wait: probeInterval, due: run}
}

func suspectProbe(run Time, mtu int) mtuProbe {
	return mtuProbe{size: mtu, wait: suspectPing, due: run, down: true}
}

// sent notes a PING of p.size.
func (p *mtuProbe) sent(run Time, stamp uint32) {
	if p.tries == 0 {
		p.first = stamp
	}
	p.tries++
	p.due = run + p.wait
	p.wait = min(2*p.wait, pingInterval)
	if p.down {
		p.wait = suspectPing
	}
}

// expire turns to the next smaller size when one has been tried enough.
func (p *mtuProbe) expire(run Time, proven int) {
	if p.size == 0 || p.tries <= probeTries || run < p.due {
		return
	}
	next := nextSize(p.size)
	switch {
	case p.size <= probeBase:
		p.tries = 1 // goes on for ever; any answer from now on counts
	case !p.down && next <= proven:
		*p = mtuProbe{due: run + probeRest}
	default:
		*p = mtuProbe{size: next, wait: probeInterval, due: run, down: p.down, fell: true}
	}
}

// nextSize gives the next smaller size to try.
func nextSize(size int) int {
	for _, s := range probeSizes {
		if s < size {
			return s
		}
	}
	return probeBase
}

// answers reports whether a PONG's echo answers the size being tried.
func (p *mtuProbe) answers(echo uint32) bool {
	return p.size != 0 && p.tries > 0 && int32(echo-p.first) >= 0
}

// answered takes a PONG for a PING of p.size, and sets the next size to try.
func (p *mtuProbe) answered(run Time, mtu int) {
	passed := p.size
	switch {
	case passed >= mtu:
		*p = mtuProbe{}
	case p.fell:
		*p = mtuProbe{due: run + probeRest}
	default:
		*p = mtuProbe{size: mtu, wait: probeInterval, due: run}
	}
}

// retry starts again from the top after a rest.
func (p *mtuProbe) retry(run Time, proven, mtu int) {
	if p.size == 0 && proven < mtu && run >= p.due {
		*p = mtuProbe{size: mtu, wait: probeInterval, due: run}
	}
}

// proved takes the answer to a probe into the rail.
func (s *Sender) proved(now Time, r *sendRail, in *Inbox) {
	size := r.probe.size
	r.probe.answered(s.running(now), r.MTU)
	if size != r.mtu {
		r.setMTU(size)
		in.Events = append(in.Events, Event{Kind: EventMTU, Rail: r.ID, MTU: size})
	}
	r.health.proven = true
}
