// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"time"
)

// Rate is bits per second; 0 is unlimited. Its text form is that of tc:
// "10gbit", "500mbit", "2500kbit", "0".
type Rate uint64

// Rates.
const (
	Kbit Rate = 1000
	Mbit Rate = 1000 * Kbit
	Gbit Rate = 1000 * Mbit
)

// rateMost is beyond any cable and keeps products of rate and time in 64 bits.
const rateMost = 10000 * Gbit

type unit struct {
	suffix string
	value  uint64
}

func rateUnits() []unit {
	return []unit{{"gbit", uint64(Gbit)}, {"mbit", uint64(Mbit)}, {"kbit", uint64(Kbit)}, {"bit", 1}}
}

// ParseRate reads a rate such as "10gbit", "2.5gbit" or "0".
func ParseRate(s string) (Rate, error) {
	const want = `a rate is a number with bit, kbit, mbit or gbit, e.g. "10gbit"; 0 is unlimited`
	v, err := parseUnit(s, rateUnits())
	if err != nil || v > uint64(rateMost) {
		return 0, fmt.Errorf("bad rate %q: %s (at most %s)", s, want, rateMost)
	}
	return Rate(v), nil
}

// String gives the shortest exact form that ParseRate reads.
func (r Rate) String() string {
	if r == 0 {
		return "0"
	}
	return formatUnit(uint64(r), rateUnits())
}

// MarshalText implements encoding.TextMarshaler.
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (r *Rate) UnmarshalText(b []byte) (err error) {
	*r, err = ParseRate(string(b))
	return err
}

// Time is a duration whose text form has one unit: "50us", "1.5ms", "0".
type Time time.Duration

// Times.
const (
	Nanosecond  Time = 1
	Microsecond      = 1000 * Nanosecond
	Millisecond      = 1000 * Microsecond
	Second           = 1000 * Millisecond
)

// timeMost bounds delays: more is a mistake in a lab for cables.
const timeMost = 10 * Second

func timeUnits() []unit {
	return []unit{{"ms", uint64(Millisecond)}, {"us", uint64(Microsecond)}, {"ns", 1}, {"s", uint64(Second)}}
}

// ParseTime reads a time such as "50us", "1.5ms" or "0".
func ParseTime(s string) (Time, error) {
	v, err := parseUnit(s, timeUnits())
	if err != nil || v > uint64(timeMost) {
		return 0, fmt.Errorf("bad time %q: a time is a number with ns, us, ms or s, e.g. \"50us\" (at most %s)", s, timeMost)
	}
	return Time(v), nil
}

// Duration gives t as a time.Duration.
func (t Time) Duration() time.Duration { return time.Duration(t) }

// String gives the shortest exact form that ParseTime reads.
func (t Time) String() string {
	if t == 0 {
		return "0"
	}
	u := timeUnits()
	return formatUnit(uint64(t), []unit{u[3], u[0], u[1], u[2]})
}

// MarshalText implements encoding.TextMarshaler.
func (t Time) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *Time) UnmarshalText(b []byte) (err error) {
	*t, err = ParseTime(string(b))
	return err
}

// Share is a probability in parts per million, at most 1 000 000. Its text form
// is a percentage: "0.1%".
type Share uint32

// Percent is one hundredth.
const Percent Share = 10000

// Always is the probability of what always happens.
const Always = 100 * Percent

// ParseShare reads a percentage such as "0.1%", "100%" or "0".
func ParseShare(s string) (Share, error) {
	v, err := parseUnit(s, []unit{{"%", uint64(Percent)}})
	if err != nil || v > uint64(Always) {
		return 0, fmt.Errorf("bad share %q: a share is a percentage from 0%% to 100%%, e.g. \"0.1%%\"; steps are 0.0001%%", s)
	}
	return Share(v), nil
}

// Float gives the probability between 0 and 1.
func (p Share) Float() float64 { return float64(p) / float64(Always) }

// String gives the shortest exact form that ParseShare reads.
func (p Share) String() string {
	if p == 0 {
		return "0"
	}
	return decimal(uint64(p), uint64(Percent)) + "%"
}

// MarshalText implements encoding.TextMarshaler.
func (p Share) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *Share) UnmarshalText(b []byte) (err error) {
	*p, err = ParseShare(string(b))
	return err
}

// Size is bytes. Its text form is a number with k, m or g (powers of 1024)
// or without.
type Size uint32

// sizeMost bounds a queue of the link model.
const sizeMost Size = 1 << 30

func sizeUnits() []unit {
	return []unit{{"g", 1 << 30}, {"m", 1 << 20}, {"k", 1 << 10}}
}

// ParseSize reads a size such as "64k", "1m" or "1500".
func ParseSize(s string) (Size, error) {
	v, err := parseUnit(s, append(sizeUnits(), unit{"", 1}))
	if err != nil || v > uint64(sizeMost) {
		return 0, fmt.Errorf("bad size %q: a size is a whole number of bytes, with k, m or g for powers of 1024 (at most %s)", s, sizeMost)
	}
	return Size(v), nil
}

// String gives the shortest exact form that ParseSize reads.
func (z Size) String() string {
	for _, u := range sizeUnits() {
		if z != 0 && uint64(z)%u.value == 0 {
			return fmt.Sprintf("%d%s", uint64(z)/u.value, u.suffix)
		}
	}
	return fmt.Sprintf("%d", uint64(z))
}

// MarshalText implements encoding.TextMarshaler.
func (z Size) MarshalText() ([]byte, error) { return []byte(z.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (z *Size) UnmarshalText(b []byte) (err error) {
	*z, err = ParseSize(string(b))
	return err
}

// parseUnit reads a decimal number followed by one of the suffixes; "0" needs
// none. What is no whole number in the least unit is an error: nothing is
// rounded behind the user's back.
func parseUnit(s string, units []unit) (uint64, error) {
	if s == "0" {
		return 0, nil
	}
	for _, u := range units {
		number, ok := strings.CutSuffix(s, u.suffix)
		if !ok || number == "" || strings.Trim(number, "0123456789.") != "" {
			continue
		}
		r, ok := new(big.Rat).SetString(number)
		if !ok {
			break
		}
		r.Mul(r, new(big.Rat).SetInt(new(big.Int).SetUint64(u.value)))
		if !r.IsInt() || !r.Num().IsUint64() || r.Num().Uint64() > math.MaxInt64 {
			break
		}
		return r.Num().Uint64(), nil
	}
	return 0, fmt.Errorf("bad value %q", s)
}

// formatUnit uses the largest unit that is not larger than v.
func formatUnit(v uint64, units []unit) string {
	for _, u := range units {
		if v >= u.value {
			return decimal(v, u.value) + u.suffix
		}
	}
	return "0"
}

// decimal prints v/per exactly; per is a power of ten.
func decimal(v, per uint64) string {
	whole := fmt.Sprintf("%d", v/per)
	rest := v % per
	if rest == 0 {
		return whole
	}
	digits := len(fmt.Sprintf("%d", per)) - 1
	return whole + "." + strings.TrimRight(fmt.Sprintf("%0*d", digits, rest), "0")
}
