// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"fmt"
	"slices"
	"strings"
)

// Change is a fault, or the end of one: the parameters of a cable, a rail or a
// segment that shall be other than they are. A nil field stays as it is. A rate
// is the cable's and cannot be changed for one of its rails.
type Change struct {
	Rate      *Rate  `json:"rate,omitempty"`
	Delay     *Time  `json:"delay,omitempty"`
	Jitter    *Time  `json:"jitter,omitempty"`
	Loss      *Share `json:"loss,omitempty"`
	Burst     *int   `json:"burst,omitempty"`
	Corrupt   *Share `json:"corrupt,omitempty"`
	Duplicate *Share `json:"duplicate,omitempty"`
	// Discard drops every frame, while the carrier stays.
	Discard *bool `json:"discard,omitempty"`
	// Stall holds every frame back for so long from now, then passes them on.
	Stall *Time `json:"stall,omitempty"`
	// From limits the change to frames that come from this host.
	From string `json:"from,omitempty"`
}

// ParseChange reads the short form "rate=5gbit,loss=1%,discard=on,from=a".
func ParseChange(s string) (Change, error) {
	var ch Change
	err := eachParam(s, ch.set)
	if err == nil && ch.empty() {
		err = fmt.Errorf("nothing to change is named")
	}
	if err != nil {
		return Change{}, fmt.Errorf("bad change %q: %w", s, err)
	}
	return ch, nil
}

func (ch *Change) set(key, value string) error {
	var l Link
	switch key {
	case "from":
		ch.From = value
		return nil
	case "discard":
		return setSwitch(&ch.Discard, key, value)
	case "stall":
		ch.Stall = new(Time)
		return set(ch.Stall, ParseTime, value)
	case "burst":
		ch.Burst = new(int)
		return setInt(ch.Burst, value)
	case "queue":
		return fmt.Errorf("queue cannot be changed at run time")
	}
	if err := l.Set(key, value); err != nil {
		return err
	}
	switch key {
	case "rate":
		ch.Rate = &l.Rate
	case "delay":
		ch.Delay = &l.Delay
	case "jitter":
		ch.Jitter = &l.Jitter
	case "loss":
		ch.Loss = &l.Loss
	case "corrupt":
		ch.Corrupt = &l.Corrupt
	case "duplicate":
		ch.Duplicate = &l.Duplicate
	}
	return nil
}

func setSwitch(to **bool, key, value string) error {
	at := slices.Index([]string{"off", "on"}, value)
	if at < 0 {
		return fmt.Errorf("%s is on or off, not %q", key, value)
	}
	on := at == 1
	*to = &on
	return nil
}

func (ch Change) empty() bool {
	ch.From = ""
	return ch == Change{}
}

// String gives the short form.
func (ch Change) String() string {
	var out []string
	add(&out, "rate", ch.Rate)
	add(&out, "delay", ch.Delay)
	add(&out, "jitter", ch.Jitter)
	add(&out, "loss", ch.Loss)
	if ch.Burst != nil {
		out = append(out, fmt.Sprintf("burst=%d", *ch.Burst))
	}
	add(&out, "corrupt", ch.Corrupt)
	add(&out, "duplicate", ch.Duplicate)
	addSwitch(&out, "discard", ch.Discard)
	add(&out, "stall", ch.Stall)
	if ch.From != "" {
		out = append(out, "from="+ch.From)
	}
	return strings.Join(out, ",")
}

func add[T fmt.Stringer](out *[]string, key string, v *T) {
	if v != nil {
		*out = append(*out, key+"="+(*v).String())
	}
}

func addSwitch(out *[]string, key string, v *bool) {
	if v != nil {
		*out = append(*out, key+"="+map[bool]string{false: "off", true: "on"}[*v])
	}
}

// onlyRelay names a parameter that needs a link model, or "".
func (ch Change) onlyRelay() string {
	for _, p := range []struct {
		key string
		set bool
	}{
		{"delay", ch.Delay != nil}, {"jitter", ch.Jitter != nil}, {"loss", ch.Loss != nil},
		{"burst", ch.Burst != nil}, {"corrupt", ch.Corrupt != nil}, {"duplicate", ch.Duplicate != nil},
		{"discard", ch.Discard != nil}, {"stall", ch.Stall != nil}, {"from", ch.From != ""},
	} {
		if p.set {
			return p.key
		}
	}
	return ""
}

// state is what applies to one direction of one rail now.
type state struct {
	Link
	Discard bool
}

// apply gives s with the change.
func (ch Change) apply(s state) state {
	assign(&s.Rate, ch.Rate)
	assign(&s.Delay, ch.Delay)
	assign(&s.Jitter, ch.Jitter)
	assign(&s.Loss, ch.Loss)
	assign(&s.Burst, ch.Burst)
	assign(&s.Corrupt, ch.Corrupt)
	assign(&s.Duplicate, ch.Duplicate)
	assign(&s.Discard, ch.Discard)
	return s
}

func assign[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}
