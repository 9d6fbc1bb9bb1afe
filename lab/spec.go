// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"fmt"
	"strconv"
	"strings"
)

// Set changes one parameter by its name, with the value in its text form:
// rate, delay, jitter, loss, burst, corrupt, duplicate or queue. On an error nothing
// has changed.
func (l *Link) Set(key, value string) (err error) {
	switch key {
	case "rate":
		err = set(&l.Rate, ParseRate, value)
	case "delay":
		err = set(&l.Delay, ParseTime, value)
	case "jitter":
		err = set(&l.Jitter, ParseTime, value)
	case "loss":
		err = set(&l.Loss, ParseShare, value)
	case "burst":
		err = setInt(&l.Burst, value)
	case "corrupt":
		err = set(&l.Corrupt, ParseShare, value)
	case "duplicate":
		err = set(&l.Duplicate, ParseShare, value)
	case "queue":
		err = set(&l.Queue, ParseSize, value)
	default:
		return fmt.Errorf("unknown parameter %q; known are rate, delay, jitter, loss, burst, corrupt, duplicate, queue", key)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

func set[T any](to *T, parse func(string) (T, error), value string) error {
	v, err := parse(value)
	if err == nil {
		*to = v
	}
	return err
}

// params gives the parameters that are not zero, as Set reads them.
func (l Link) params() []string {
	var out []string
	add := func(key string, zero bool, v fmt.Stringer) {
		if !zero {
			out = append(out, key+"="+v.String())
		}
	}
	add("rate", l.Rate == 0, l.Rate)
	add("delay", l.Delay == 0, l.Delay)
	add("jitter", l.Jitter == 0, l.Jitter)
	add("loss", l.Loss == 0, l.Loss)
	if l.Burst != 0 {
		out = append(out, fmt.Sprintf("burst=%d", l.Burst))
	}
	add("corrupt", l.Corrupt == 0, l.Corrupt)
	add("duplicate", l.Duplicate == 0, l.Duplicate)
	add("queue", l.Queue == 0, l.Queue)
	return out
}

// ParseCable reads the short form "a-b,rails=2,rate=10gbit,delay=50us", with
// "name=..." where the cable shall not be called cable1, cable2, ...; further
// keys are mtu, mtu_b, model, skew and those of Link.Set.
func ParseCable(s string) (Cable, error) {
	ends, rest, _ := strings.Cut(s, ",")
	a, b, ok := strings.Cut(ends, "-")
	c := Cable{A: a, B: b}
	if !ok || a == "" || b == "" {
		return c, fmt.Errorf("bad cable %q: it begins with two hosts, as in \"a-b,rails=2,rate=10gbit\"", s)
	}
	err := eachParam(rest, func(key, value string) error {
		switch key {
		case "name":
			c.Name = value
			return nil
		case "rails":
			return setInt(&c.Rails, value)
		case "mtu":
			return setInt(&c.MTU, value)
		case "mtu_b":
			return setInt(&c.MTUB, value)
		case "model":
			c.Model = Model(value)
			return nil
		case "skew":
			return set(&c.Skew, ParseTime, value)
		}
		return c.Link.Set(key, value)
	})
	if err != nil {
		return c, fmt.Errorf("bad cable %q: %w", s, err)
	}
	return c, nil
}

// String gives the short form, with everything that is not zero.
func (c Cable) String() string {
	out := []string{c.A + "-" + c.B}
	if c.Name != "" {
		out = append(out, "name="+c.Name)
	}
	for _, n := range []struct {
		key string
		val int
	}{{"rails", c.Rails}, {"mtu", c.MTU}, {"mtu_b", c.MTUB}} {
		if n.val != 0 {
			out = append(out, n.key+"="+strconv.Itoa(n.val))
		}
	}
	if c.Model != "" {
		out = append(out, "model="+string(c.Model))
	}
	if c.Skew != 0 {
		out = append(out, "skew="+c.Skew.String())
	}
	return strings.Join(append(out, c.Link.params()...), ",")
}

// ParseSegment reads the short form "a+b+c,rate=10gbit"; further keys are
// name, mtu, model and those of Link.Set.
func ParseSegment(s string) (Segment, error) {
	hosts, rest, _ := strings.Cut(s, ",")
	g := Segment{Hosts: strings.Split(hosts, "+")}
	err := eachParam(rest, func(key, value string) error {
		switch key {
		case "name":
			g.Name = value
			return nil
		case "mtu":
			return setInt(&g.MTU, value)
		case "model":
			g.Model = Model(value)
			return nil
		}
		return g.Link.Set(key, value)
	})
	if err != nil {
		return g, fmt.Errorf("bad segment %q: %w", s, err)
	}
	return g, nil
}

// String gives the short form, with everything that is not zero.
func (g Segment) String() string {
	out := []string{strings.Join(g.Hosts, "+")}
	if g.Name != "" {
		out = append(out, "name="+g.Name)
	}
	if g.MTU != 0 {
		out = append(out, "mtu="+strconv.Itoa(g.MTU))
	}
	if g.Model != "" {
		out = append(out, "model="+string(g.Model))
	}
	return strings.Join(append(out, g.Link.params()...), ",")
}

// ParseSpecs makes a topology of short forms; its hosts are those the cables
// and segments name, in that order. The result is valid and complete.
func ParseSpecs(cables, segments []string) (Topology, error) {
	var t Topology
	for _, s := range cables {
		c, err := ParseCable(s)
		if err != nil {
			return Topology{}, err
		}
		t.Cables = append(t.Cables, c)
		t.addHosts(c.A, c.B)
	}
	for _, s := range segments {
		g, err := ParseSegment(s)
		if err != nil {
			return Topology{}, err
		}
		t.Segments = append(t.Segments, g)
		t.addHosts(g.Hosts...)
	}
	t = t.withDefaults()
	return t, t.Validate()
}

func (t *Topology) addHosts(names ...string) {
	for _, name := range names {
		known := false
		for _, h := range t.Hosts {
			known = known || h.Name == name
		}
		if !known {
			t.Hosts = append(t.Hosts, Host{Name: name})
		}
	}
}

func setInt(to *int, value string) error {
	n, err := strconv.Atoi(value)
	if err != nil {
		return fmt.Errorf("%q is no whole number", value)
	}
	*to = n
	return nil
}

// eachParam calls f for each key=value of a comma-separated list.
func eachParam(list string, f func(key, value string) error) error {
	if list == "" {
		return nil
	}
	seen := map[string]bool{}
	for _, p := range strings.Split(list, ",") {
		key, value, ok := strings.Cut(p, "=")
		switch {
		case !ok || key == "" || value == "":
			return fmt.Errorf("%q is not key=value", p)
		case seen[key]:
			return fmt.Errorf("%s is given twice", key)
		}
		seen[key] = true
		if err := f(key, value); err != nil {
			return err
		}
	}
	return nil
}
