// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/tbnet2/tbnet2/userstack/proxy"
)

// key is one key of a section. set gets the rail only in a rail's section.
type key struct {
	again bool // may be given more than once
	set   func(c *Config, r *Rail, value string) error
}

// keys is the table of all sections and keys.
var keys = map[string]map[string]key{
	"host": {
		"uuid": {set: func(c *Config, _ *Rail, v string) (err error) { c.Host.UUID, err = parseUUID(v); return }},
		"name": {set: func(c *Config, _ *Rail, v string) error { c.Host.Name = v; return checkHostName(v) }},
	},
	"bond": {
		"outlet": {set: func(c *Config, _ *Rail, v string) error { return oneOf(&c.Bond.Outlet, v, OutletTAP, OutletUserstack) }},
		"name":   {set: func(c *Config, _ *Rail, v string) error { c.Bond.Name = v; return checkName(v) }},
		"mtu":    {set: func(c *Config, _ *Rail, v string) error { return whole(&c.Bond.MTU, v, 1280, 65535) }},
		"address": {again: true, set: func(c *Config, _ *Rail, v string) error {
			c.Bond.Addresses = append(c.Bond.Addresses, v)
			return checkPrefix(v)
		}},
		"retransmit": {set: func(c *Config, _ *Rail, v string) error { return yesNo(&c.Bond.Retransmit, v) }},
		"window":     {set: func(c *Config, _ *Rail, v string) error { return sized(&c.Bond.Window, v, 256<<10, 256<<20) }},
		"rmem":       {set: func(c *Config, _ *Rail, v string) error { return sized(&c.Bond.ReadBuffer, v, 4<<10, 1<<30) }},
		"wmem":       {set: func(c *Config, _ *Rail, v string) error { return sized(&c.Bond.WriteBuffer, v, 4<<10, 1<<30) }},
		"queue":      {set: func(c *Config, _ *Rail, v string) error { return sized(&c.Bond.Queue, v, 128<<10, 256<<20) }},
	},
	"rail": {
		"device": {set: func(_ *Config, r *Rail, v string) error { r.Device = v; return checkName(v) }},
		"path":   {set: func(_ *Config, r *Rail, v string) error { r.Path = v; return checkPath(v) }},
		"mtu":    {set: func(_ *Config, r *Rail, v string) error { return railMTU(&r.MTU, v) }},
		"weight": {set: func(_ *Config, r *Rail, v string) error { return whole(&r.Weight, v, 1, 1000) }},
		"crc":    {set: func(_ *Config, r *Rail, v string) error { return yesNo(&r.CRC, v) }},
	},
	"socks5": {
		"listen": {set: func(c *Config, _ *Rail, v string) error { c.SOCKS = v; return checkListen(v) }},
	},
	"forward": {
		"local":  {again: true, set: func(c *Config, _ *Rail, v string) error { return c.addForward(v, false) }},
		"remote": {again: true, set: func(c *Config, _ *Rail, v string) error { return c.addForward(v, true) }},
	},
	"log": {
		"format": {set: func(c *Config, _ *Rail, v string) error { return oneOf(&c.Log.Format, v, "text", "json") }},
		"level": {set: func(c *Config, _ *Rail, v string) error {
			return oneOf(&c.Log.Level, v, "debug", "info", "warn", "error")
		}},
	},
	"control": {
		"group": {set: func(c *Config, _ *Rail, v string) error { c.Control.Group = v; return checkHostName(v) }},
	},
}

func (c *Config) addForward(value string, remote bool) error {
	f, err := proxy.ParseForward(value, remote)
	if err == nil {
		c.Forwards = append(c.Forwards, f)
	}
	return err
}

// checkListen allows what a SOCKS server may listen on without a password.
func checkListen(s string) error {
	if path, ok := strings.CutPrefix(s, "unix:"); ok && strings.HasPrefix(path, "/") {
		return nil
	}
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return fmt.Errorf("%q is neither ADDRESS:PORT nor unix:/PATH", s)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return fmt.Errorf("%q is no port", port)
	}
	if addr, err := netip.ParseAddr(host); host != "" && host != "localhost" && (err != nil || !addr.IsLoopback()) {
		return fmt.Errorf("%q is no loopback address: anybody could use the server", host)
	}
	return nil
}

var (
	nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,14}$`)
	pathForm = regexp.MustCompile(`^[0-9]+-[0-9a-f]+$`)
)

// checkName allows what the kernel allows as a device's name, less what would
// be a riddle in a list.
func checkName(s string) error {
	if !nameForm.MatchString(s) {
		return fmt.Errorf("%q is no device name (1 to 15 letters, digits, '.', '_', '-')", s)
	}
	return nil
}

func checkPath(s string) error {
	if !pathForm.MatchString(s) {
		return fmt.Errorf("%q is no DOMAIN-ROUTE such as 0-1 (see /sys/bus/thunderbolt/devices)", s)
	}
	return nil
}

func checkHostName(s string) error {
	if len(s) > 63 || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f || r == ',' || r == '"' || r == 0xfffd }) {
		return fmt.Errorf("%q is no name (at most 63 bytes, no space)", s)
	}
	return nil
}

func checkPrefix(s string) error {
	p, err := netip.ParsePrefix(s)
	if err != nil {
		return fmt.Errorf("%q is no ADDRESS/PREFIX such as 10.0.0.1/24", s)
	}
	if a := p.Addr(); a.IsMulticast() || a.IsUnspecified() || a.IsLoopback() || a.Is4In6() {
		return fmt.Errorf("%q is no address that a bond can have", s)
	}
	return nil
}

func parseUUID(s string) (uuid.UUID, error) {
	id, err := uuid.Parse(s)
	if err != nil || id == uuid.Nil || len(s) != 36 {
		return uuid.Nil, fmt.Errorf("%q is no UUID", s)
	}
	return id, nil
}

func oneOf(to *string, v string, known ...string) error {
	if !slices.Contains(known, v) {
		return fmt.Errorf("%q is none of %s", v, strings.Join(known, ", "))
	}
	*to = v
	return nil
}

func yesNo(to *bool, v string) error {
	if v != "yes" && v != "no" {
		return fmt.Errorf("%q is neither yes nor no", v)
	}
	*to = v == "yes"
	return nil
}

func whole(to *int, v string, min, max int) error {
	n, err := strconv.Atoi(v)
	if err != nil || n < min || n > max {
		return fmt.Errorf("%q is not a number from %d to %d", v, min, max)
	}
	*to = n
	return nil
}

// railMTU reads "max" or bytes.
func railMTU(to *int, v string) error {
	if v == "max" {
		*to = MTUMax
		return nil
	}
	if err := whole(to, v, 576, 65535); err != nil {
		return fmt.Errorf("%w, nor max", err)
	}
	return nil
}

// sized reads bytes with an optional K, M (1024, 1024 x 1024).
func sized(to *int, v string, min, max int) error {
	digits, unit := v, 1
	switch {
	case strings.HasSuffix(v, "K"):
		digits, unit = v[:len(v)-1], 1<<10
	case strings.HasSuffix(v, "M"):
		digits, unit = v[:len(v)-1], 1<<20
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n > max/unit || n*unit < min {
		return fmt.Errorf("%q is not a size from %s to %s", v, bytesText(min), bytesText(max))
	}
	*to = n * unit
	return nil
}

// bytesText is what sized reads.
func bytesText(n int) string {
	switch {
	case n%(1<<20) == 0:
		return strconv.Itoa(n>>20) + "M"
	case n%(1<<10) == 0:
		return strconv.Itoa(n>>10) + "K"
	}
	return strconv.Itoa(n)
}

// Validate checks what no line alone can be blamed for.
func (c Config) Validate() error {
	devices := map[string]string{}
	for _, r := range c.Rails {
		if (r.Device == "") == (r.Path == "") {
			return fmt.Errorf("[rail %s] needs device or path, one of the two", r.Name)
		}
		at := r.Device + r.Path
		if other, twice := devices[at]; twice {
			return fmt.Errorf("[rail %s] and [rail %s] are both on %s", other, r.Name, at)
		}
		devices[at] = r.Name
		if r.Device == c.Bond.Name {
			return fmt.Errorf("[rail %s] is on the bond %s itself", r.Name, r.Device)
		}
	}
	if c.Bond.Outlet == OutletTAP {
		if c.Bond.ReadBuffer != 0 || c.Bond.WriteBuffer != 0 {
			return fmt.Errorf("rmem and wmem in [bond] need outlet = userstack: with a TAP the kernel's TCP has its own (sysctl net.ipv4.tcp_rmem, tcp_wmem)")
		}
		if c.SOCKS != "" {
			return fmt.Errorf("[socks5] needs outlet = userstack in [bond]: with a TAP the kernel's own sockets reach the peers")
		}
		if len(c.Forwards) > 0 {
			return fmt.Errorf("[forward] needs outlet = userstack in [bond]: with a TAP the kernel's own sockets reach the peers")
		}
	}
	return nil
}
