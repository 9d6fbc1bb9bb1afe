// SPDX-License-Identifier: Apache-2.0

package script

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tbnet2/tbnet2/transport"
)

// clause is one action or frame of a script in words: bare words, key=value
// fields, and [clauses] inside it.
type clause struct {
	words  []string
	fields []field
	groups []clause
}

// field is key=value.
type field struct {
	key, value string
	used       bool // somebody has asked for it
}

// parseClause reads text up to its end.
func parseClause(text string) (clause, error) {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "[", " [ "), "]", " ] ")
	c, rest, err := parseTokens(strings.Fields(text), false)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("] without [")
	}
	return c, err
}

func parseTokens(tokens []string, inner bool) (c clause, rest []string, err error) {
	for len(tokens) > 0 {
		token := tokens[0]
		tokens = tokens[1:]
		switch key, value, isField := strings.Cut(token, "="); {
		case token == "]" && inner:
			return c, tokens, nil
		case token == "]":
			return c, []string{token}, nil
		case token == "[":
			var g clause
			if g, tokens, err = parseTokens(tokens, true); err != nil {
				return c, nil, err
			}
			c.groups = append(c.groups, g)
		case isField:
			c.fields = append(c.fields, field{key: key, value: value})
		default:
			c.words = append(c.words, token)
		}
	}
	if inner {
		return c, nil, fmt.Errorf("[ without ]")
	}
	return c, nil, nil
}

// word gives the i-th bare word, "" if there is none.
func (c *clause) word(i int) string {
	if i < len(c.words) {
		return c.words[i]
	}
	return ""
}

// has reports whether a bare word stands in the clause.
func (c *clause) has(word string) bool {
	for _, w := range c.words {
		if w == word {
			return true
		}
	}
	return false
}

// text gives a field, or d where it is left out.
func (c *clause) text(key, d string) string {
	for i := range c.fields {
		if f := &c.fields[i]; f.key == key {
			f.used = true
			return f.value
		}
	}
	return d
}

// num gives a number field, or d where it is left out. A value with a unit is
// a time, and stands for its stamp.
func (c *clause) num(key string, d int64) int64 {
	v := c.text(key, "")
	if v == "" {
		return d
	}
	if n, err := strconv.ParseInt(v, 0, 64); err == nil {
		return n
	}
	if n, err := strconv.ParseUint(v, 0, 64); err == nil {
		return int64(n)
	}
	t, err := parseTime(v)
	if err != nil {
		panic(scriptError(fmt.Sprintf("%s=%s is no number", key, v)))
	}
	return int64(t.Stamp())
}

// scriptError is panicked by the reader of a script and reported with its line.
type scriptError string

// unknown names a field that nobody has asked for, "" if there is none.
func (c *clause) unknown() string {
	for i := range c.fields {
		if !c.fields[i].used {
			return c.fields[i].key
		}
	}
	return ""
}

var timeUnits = []struct {
	name string
	unit transport.Time
}{{"ms", transport.Millisecond}, {"us", transport.Microsecond}, {"ns", 1}, {"s", transport.Second}}

func parseTime(s string) (transport.Time, error) {
	for _, u := range timeUnits {
		if digits, ok := strings.CutSuffix(s, u.name); ok {
			n, err := strconv.ParseInt(digits, 10, 64)
			return transport.Time(n) * u.unit, err
		}
	}
	return 0, fmt.Errorf("%q is no time: a whole number of ns, us, ms or s", s)
}

// TimeText gives a time as scripts have it.
func TimeText(t transport.Time) string { return timeText(t) }

func timeText(t transport.Time) string {
	switch {
	case t%transport.Millisecond == 0:
		return fmt.Sprintf("%dms", t/transport.Millisecond)
	case t%transport.Microsecond == 0:
		return fmt.Sprintf("%dus", t/transport.Microsecond)
	}
	return fmt.Sprintf("%dns", t)
}

// parseRails reads a set of rail ids: 0,2 or - for none.
func parseRails(s string) transport.RailSet {
	set := transport.RailSet(0)
	if s == "-" || s == "" {
		return set
	}
	for _, id := range strings.Split(s, ",") {
		n, err := strconv.ParseUint(id, 10, 6)
		if err != nil {
			panic(scriptError(fmt.Sprintf("%q is no set of rails", s)))
		}
		set = set.With(transport.RailID(n))
	}
	return set
}

func railsText(s transport.RailSet) string {
	if s == 0 {
		return "-"
	}
	var ids []string
	for id := range s.All() {
		ids = append(ids, strconv.Itoa(int(id)))
	}
	return strings.Join(ids, ",")
}

// scriptPeriod is a prime, so that content moved by a whole unit differs.
const scriptPeriod = 251

// scriptPattern is what every script carries: byte i of packet p in channel ch
// is (i + 31 p + 101 ch) mod scriptPeriod.
var scriptPattern = func() []byte {
	b := make([]byte, scriptPeriod+1<<17)
	for i := range b {
		b[i] = byte(i % scriptPeriod)
	}
	return b
}()

// scriptContent gives bytes [off, off+n) of a packet, which are not to be
// changed.
func scriptContent(ch uint8, p uint32, off, n int) []byte {
	if n > 1<<17 {
		panic(scriptError(fmt.Sprintf("%d bytes are too many", n)))
	}
	start := int((uint64(off) + 31*uint64(p) + 101*uint64(ch)) % scriptPeriod)
	return scriptPattern[start : start+n : start+n]
}
