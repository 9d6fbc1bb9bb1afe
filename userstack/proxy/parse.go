// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

const forwardForm = "[ADDRESS:]PORT:HOST:PORT[/udp], IPv6 addresses in brackets"

// ParseForward reads a forward in the form of ssh's -L and -R:
// [ADDRESS:]PORT:HOST:PORT, IPv6 addresses in brackets, with /udp behind it for
// UDP. ADDRESS may be *, all addresses. The error is one line.
func ParseForward(spec string, reverse bool) (Forward, error) {
	fail := func(format string, args ...any) (Forward, error) {
		return Forward{}, fmt.Errorf("forward %q: %s; the form is %s", spec, fmt.Sprintf(format, args...), forwardForm)
	}
	f := Forward{Network: "tcp", Reverse: reverse}
	rest := spec
	if body, network, ok := strings.Cut(spec, "/"); ok {
		if network != "tcp" && network != "udp" {
			return fail("%q is neither tcp nor udp", network)
		}
		rest, f.Network = body, network
	}
	fields, err := splitFields(rest)
	if err != nil {
		return fail("%v", err)
	}
	if len(fields) == 3 {
		fields = append([]string{""}, fields...)
	}
	if len(fields) != 4 {
		return fail("it has %d fields", len(fields))
	}
	if f.Listen, err = listenField(fields[0], fields[1], reverse); err == nil {
		f.Target, err = targetField(fields[2], fields[3])
	}
	if err != nil {
		return fail("%v", err)
	}
	return f, nil
}

// splitFields splits at colons. A field in brackets keeps its own and must be
// an IPv6 address.
func splitFields(s string) ([]string, error) {
	var fields []string
	for {
		field, rest, more := strings.Cut(s, ":")
		if strings.HasPrefix(s, "[") {
			end := strings.IndexByte(s, ']')
			if end < 0 {
				return nil, fmt.Errorf("a bracket is not closed")
			}
			field, rest = s[1:end], s[end+1:]
			if addr, err := netip.ParseAddr(field); err != nil || !addr.Is6() {
				return nil, fmt.Errorf("%q in brackets is no IPv6 address", field)
			}
			if rest, more = strings.CutPrefix(rest, ":"); !more && rest != "" {
				return nil, fmt.Errorf("%q stands behind a bracket", rest)
			}
		}
		fields = append(fields, field)
		if !more {
			return fields, nil
		}
		s = rest
	}
}

func listenField(host, port string, reverse bool) (string, error) {
	if err := checkPort(port, 0); err != nil {
		return "", fmt.Errorf("listen port %w", err)
	}
	switch {
	case host == "" && !reverse:
		host = "127.0.0.1"
	case host == "*" && reverse:
		host = ""
	case host == "localhost" && !reverse, host == "*", host == "":
	default:
		if _, err := netip.ParseAddr(host); err != nil {
			return "", fmt.Errorf("listen address %q is no IP address", host)
		}
	}
	return net.JoinHostPort(host, port), nil
}

func targetField(host, port string) (string, error) {
	if err := checkPort(port, 1); err != nil {
		return "", fmt.Errorf("target port %w", err)
	}
	if _, err := netip.ParseAddr(host); err != nil && !validHostName(host) {
		return "", fmt.Errorf("target %q is neither an address nor a host name", host)
	}
	return net.JoinHostPort(host, port), nil
}

func checkPort(s string, least uint64) error {
	if n, err := strconv.ParseUint(s, 10, 16); err != nil || n < least || (len(s) > 1 && s[0] == '0') {
		return fmt.Errorf("%q is not within %d to 65535", s, least)
	}
	return nil
}

func validHostName(s string) bool {
	if s == "" || len(s) > 253 {
		return false
	}
	return strings.IndexFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.", r)
	}) < 0
}

// String gives the form that ParseForward reads.
func (f Forward) String() string {
	s := f.Listen + ":" + f.Target
	if f.Network == "udp" {
		s += "/udp"
	}
	return s
}
