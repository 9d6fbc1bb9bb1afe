// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"fmt"
	"regexp"
)

// Bounds of a topology. A rail costs two veth pairs and a relay's share of a
// processor; a host may have 64 rails, as an association may.
const (
	hostsMost = 64
	railsMost = 64 // of one host
	mtuLeast  = 576
	mtuMost   = 65535
	nameMost  = 15
	burstMost = 1000 // frames
)

// Validate checks a topology whose defaults are filled in. Each error found is
// one line that names the object and says what is allowed; errors.Join holds
// them all.
func (t Topology) Validate() error {
	v := validator{hosts: map[string]int{}, names: map[string]bool{}}
	v.checkHosts(t.Hosts)
	for _, c := range t.Cables {
		v.checkCable(c)
	}
	for _, s := range t.Segments {
		v.checkSegment(s)
	}
	for _, h := range t.Hosts {
		if n := v.hosts[h.Name]; n > railsMost {
			v.fail("host %s: has %d rails, at most %d are allowed", h.Name, n, railsMost)
		}
	}
	return errors.Join(v.errs...)
}

type validator struct {
	hosts map[string]int // rails of each
	names map[string]bool
	errs  []error
}

func (v *validator) fail(format string, args ...any) {
	v.errs = append(v.errs, fmt.Errorf(format, args...))
}

func (v *validator) checkHosts(hosts []Host) {
	if len(hosts) == 0 {
		v.fail("topology: has no hosts; name at least one")
	}
	if len(hosts) > hostsMost {
		v.fail("topology: has %d hosts, at most %d are allowed", len(hosts), hostsMost)
	}
	for _, h := range hosts {
		v.checkName("host", h.Name)
		if _, twice := v.hosts[h.Name]; twice {
			v.fail("host %s: is named twice", h.Name)
		}
		v.hosts[h.Name] = 0
	}
}

func (v *validator) checkCable(c Cable) {
	what := "cable " + c.Name
	v.checkLinkName("cable", c.Name)
	v.checkHost(what, c.A, c.Rails)
	v.checkHost(what, c.B, c.Rails)
	if c.A == c.B {
		v.fail("%s: joins host %q to itself", what, c.A)
	}
	if c.Rails < 1 || c.Rails > railsMost {
		v.fail("%s: rails is %d, 1 to %d are allowed", what, c.Rails, railsMost)
	}
	v.checkMTU(what, c.MTU)
	v.checkMTU(what, c.MTUB)
	if c.Skew < 0 || c.Skew > timeMost {
		v.fail("%s: skew is %s, 0 to %s are allowed", what, c.Skew.Duration(), timeMost)
	}
	v.checkModel(what, c.Model, c.Link, c.Skew, Relay, Direct, TBF)
	v.checkLink(what, c.Link)
	v.checkBucket(what, c.Model, c.Rate, c.Rails)
}

// bucketLeast is the rate below which a token bucket that holds a superpacket
// takes seconds to fill.
const bucketLeast = 1 * Mbit

func (v *validator) checkBucket(what string, m Model, rate Rate, rails int) {
	if m == TBF && rate != 0 && rails > 0 && rate/Rate(rails) < bucketLeast {
		v.fail("%s: model %q needs at least %s for each rail, or rate 0", what, m, bucketLeast)
	}
}

func (v *validator) checkSegment(s Segment) {
	what := "segment " + s.Name
	v.checkLinkName("segment", s.Name)
	if len(s.Hosts) < 2 {
		v.fail("%s: joins %d hosts, at least 2 are needed", what, len(s.Hosts))
	}
	seen := map[string]bool{}
	for _, h := range s.Hosts {
		v.checkHost(what, h, 1)
		if seen[h] {
			v.fail("%s: names host %q twice", what, h)
		}
		seen[h] = true
	}
	v.checkMTU(what, s.MTU)
	v.checkModel(what, s.Model, s.Link, 0, Relay, TBF)
	v.checkLink(what, s.Link)
	v.checkBucket(what, s.Model, s.Rate, 1)
}

// checkName holds names to what an interface, a file and `ip netns` take.
func (v *validator) checkName(what, name string) {
	if !validName(name) {
		v.fail("%s %q: a name has 1 to %d letters, digits, - or _, and begins with a letter", what, name, nameMost)
	}
}

func validName(name string) bool {
	ok, err := regexp.MatchString(`^[A-Za-z][A-Za-z0-9_-]*$`, name)
	return ok && err == nil && len(name) <= nameMost
}

func (v *validator) checkLinkName(what, name string) {
	v.checkName(what, name)
	if v.names[name] {
		v.fail("%s %s: the name is used twice", what, name)
	}
	v.names[name] = true
}

func (v *validator) checkHost(what, host string, rails int) {
	if _, known := v.hosts[host]; !known {
		v.fail("%s: unknown host %q", what, host)
		return
	}
	v.hosts[host] += max(rails, 0)
}

func (v *validator) checkMTU(what string, mtu int) {
	if mtu < mtuLeast || mtu > mtuMost {
		v.fail("%s: mtu is %d, %d to %d are allowed", what, mtu, mtuLeast, mtuMost)
	}
}

// checkModel names the first parameter that the model cannot apply: it would
// be a lab that silently is not what was asked for.
func (v *validator) checkModel(what string, m Model, l Link, skew Time, allowed ...Model) {
	for _, a := range allowed {
		if m != a {
			continue
		}
		if key := unfit(m, l, skew); key != "" {
			v.fail("%s: model %q cannot apply %s; use model %q", what, m, key, Relay)
		}
		return
	}
	v.fail("%s: unknown model %q; allowed are %q", what, m, allowed)
}

func unfit(m Model, l Link, skew Time) string {
	switch {
	case m == Relay:
		return ""
	case m == Direct && l.Rate != 0:
		return "rate"
	case m == Direct && l.Queue != 0:
		return "queue"
	case l.Delay != 0:
		return "delay"
	case l.Jitter != 0:
		return "jitter"
	case l.Loss != 0:
		return "loss"
	case l.Burst != 0:
		return "burst"
	case l.Corrupt != 0:
		return "corrupt"
	case l.Duplicate != 0:
		return "duplicate"
	case skew != 0:
		return "skew"
	}
	return ""
}

func (v *validator) checkLink(what string, l Link) {
	if l.Rate > rateMost {
		v.fail("%s: rate is %s, at most %s is allowed", what, l.Rate, rateMost)
	}
	for _, d := range []struct {
		key string
		val Time
	}{{"delay", l.Delay}, {"jitter", l.Jitter}} {
		if d.val < 0 || d.val > timeMost {
			v.fail("%s: %s is %s, 0 to %s are allowed", what, d.key, d.val.Duration(), timeMost)
		}
	}
	for _, p := range []struct {
		key string
		val Share
	}{{"loss", l.Loss}, {"corrupt", l.Corrupt}, {"duplicate", l.Duplicate}} {
		if p.val > Always {
			v.fail("%s: %s is %s, 0%% to 100%% are allowed", what, p.key, p.val)
		}
	}
	if l.Burst < 0 || l.Burst > burstMost {
		v.fail("%s: burst is %d, 0 to %d are allowed", what, l.Burst, burstMost)
	}
	if l.Queue > sizeMost {
		v.fail("%s: queue is %s, at most %s is allowed", what, l.Queue, sizeMost)
	}
}
