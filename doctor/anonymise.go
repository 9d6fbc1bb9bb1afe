// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// anonymiser replaces what tells one machine from another by pseudonyms. The
// same original gets the same pseudonym in one report, so that a reader can
// still tell that two lines are about one host; no original can be computed
// from a pseudonym, which is only a number in the order of first sight.
type anonymiser struct {
	names map[string]string // original in lower case to pseudonym
	count map[string]int    // pseudonyms given, by kind
	known *regexp.Regexp    // names of hosts; nil without any
}

// newAnonymiser makes one that knows the hosts' names; all else it replaces is
// found by its form.
func newAnonymiser(hosts []string) *anonymiser {
	a := &anonymiser{names: map[string]string{}, count: map[string]int{}}
	var patterns []string
	for _, name := range hosts {
		short, _, _ := strings.Cut(name, ".")
		for _, n := range []string{name, short} {
			if n != "" && !slices.Contains(patterns, regexp.QuoteMeta(n)) {
				patterns = append(patterns, regexp.QuoteMeta(n))
			}
		}
	}
	if len(patterns) > 0 {
		// The longest first: a name may begin with another.
		slices.SortFunc(patterns, func(x, y string) int { return len(y) - len(x) })
		a.known = regexp.MustCompile(`(?i)(` + strings.Join(patterns, "|") + `)`)
	}
	return a
}

var (
	uuidForm = regexp.MustCompile(`(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	hexForm  = regexp.MustCompile(`(?i)[0-9a-f]{32}`) // machine-id, a UUID without dashes
	macForm  = regexp.MustCompile(`(?i)\b[0-9a-f]{2}(?:[:-][0-9a-f]{2}){5}\b`)
	enxForm  = regexp.MustCompile(`(?i)x([0-9a-f]{12})`) // enx..., wlx...
	addrForm = regexp.MustCompile(`(?i)[0-9a-f:.]*[:.][0-9a-f:.]*`)
)

// text gives s with all originals replaced.
func (a *anonymiser) text(s string) string {
	s = uuidForm.ReplaceAllStringFunc(s, func(m string) string { return a.pseudonym("uuid", strings.ReplaceAll(m, "-", "")) })
	s = hexForm.ReplaceAllStringFunc(s, func(m string) string { return a.pseudonym("uuid", m) })
	s = macForm.ReplaceAllStringFunc(s, func(m string) string { return a.mac(m) })
	s = enxForm.ReplaceAllStringFunc(s, func(m string) string { return "x-" + a.mac(m[1:]) })
	s = addrForm.ReplaceAllStringFunc(s, a.address)
	if a.known != nil {
		s = a.known.ReplaceAllStringFunc(s, func(m string) string { return a.pseudonym("host", m) })
	}
	return s
}

func (a *anonymiser) mac(m string) string {
	return a.pseudonym("mac", strings.NewReplacer(":", "", "-", "").Replace(m))
}

// address replaces m if it is an IP address; versions and PCI slots, which
// look alike, stay. A dot or colon at the end may belong to the sentence.
func (a *anonymiser) address(m string) string {
	core := strings.TrimRight(m, ".")
	if trimmed := strings.TrimRight(core, ":"); !strings.HasSuffix(core, "::") {
		core = trimmed
	}
	addr, err := netip.ParseAddr(core)
	if err != nil {
		if host, port, found := cutLast(core, ":"); found { // 192.0.2.1:80
			if addr, err := netip.ParseAddr(host); err == nil {
				return a.pseudonym("address", addr.String()) + ":" + port + m[len(core):]
			}
		}
		return m
	}
	return a.pseudonym("address", addr.String()) + m[len(core):]
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

func (a *anonymiser) pseudonym(kind, original string) string {
	key := kind + " " + strings.ToLower(original)
	if p, found := a.names[key]; found {
		return p
	}
	a.count[kind]++
	p := fmt.Sprintf("%s-%d", kind, a.count[kind])
	a.names[key] = p
	return p
}

// closed are the keys whose values come from a fixed list, so that a host
// named "up" does not make a riddle of every state.
var closed = map[string]bool{"state": true, "kind": true, "level": true, "layer": true, "check": true, "code": true, "backend": true}

// value replaces in all strings of a decoded JSON value, keys included.
func (a *anonymiser) value(v any) any {
	switch v := v.(type) {
	case string:
		return a.text(v)
	case []any:
		for i := range v {
			v[i] = a.value(v[i])
		}
	case map[string]any:
		out := map[string]any{}
		for _, k := range slices.Sorted(maps.Keys(v)) { // pseudonyms in the same order each time
			if s, text := v[k].(string); text && closed[k] {
				out[k] = s
				continue
			}
			out[a.text(k)] = a.value(v[k])
		}
		return out
	}
	return v
}
