// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"strings"
	"testing"
)

func TestParseForward(t *testing.T) {
	for _, tc := range []struct {
		spec    string
		reverse bool
		want    Forward
	}{
		{"8080:node2:80", false, Forward{"tcp", false, "127.0.0.1:8080", "node2:80"}},
		{":8080:node2:80", false, Forward{"tcp", false, "127.0.0.1:8080", "node2:80"}},
		{"8080:node2:80", true, Forward{"tcp", true, ":8080", "node2:80"}},
		{"*:8080:node2:80/tcp", false, Forward{"tcp", false, "*:8080", "node2:80"}},
		{"*:8080:localhost:80", true, Forward{"tcp", true, ":8080", "localhost:80"}},
		{"localhost:0:10.0.0.2:53/udp", false, Forward{"udp", false, "localhost:0", "10.0.0.2:53"}},
		{"[::1]:22:[fd00::2]:22", false, Forward{"tcp", false, "[::1]:22", "[fd00::2]:22"}},
		{"1:[fe80::1%tbbond0]:2", false, Forward{"tcp", false, "127.0.0.1:1", "[fe80::1%tbbond0]:2"}},
	} {
		got, err := ParseForward(tc.spec, tc.reverse)
		if err != nil || got != tc.want {
			t.Errorf("%q: got %+v, %v, want %+v", tc.spec, got, err, tc.want)
		}
		if again, err := ParseForward(got.String(), tc.reverse); err != nil || again != got {
			t.Errorf("%q: %q read again: got %+v, %v", tc.spec, got, again, err)
		}
	}
}

func TestParseForwardErrors(t *testing.T) {
	for _, tc := range []struct {
		spec    string
		reverse bool
		want    string
	}{
		{"", false, "it has 1 fields"},
		{"8080", false, "it has 1 fields"},
		{"node2:80", false, "it has 2 fields"},
		{"a:b:c:d:e", false, "it has 5 fields"},
		{"http:node2:80", false, `listen port "http" is not within 0 to 65535`},
		{"65536:node2:80", false, `listen port "65536" is not within`},
		{"08:node2:80", false, `listen port "08" is not within`},
		{"80:node2:0", false, `target port "0" is not within 1 to 65535`},
		{"80::80", false, `target "" is neither`},
		{"80:no de:80", false, `target "no de" is neither`},
		{"node1:80:node2:80", false, `listen address "node1" is no IP address`},
		{"localhost:80:node2:80", true, `listen address "localhost" is no IP address`},
		{"80:node2:80/sctp", false, `"sctp" is neither tcp nor udp`},
		{"80:fd00::2:80", false, "it has 5 fields"},
		{"80:[fd00::2:80", false, "a bracket is not closed"},
		{"80:[node2]:80", false, `"node2" in brackets is no IPv6 address`},
		{"80:[10.0.0.2]:80", false, "in brackets is no IPv6 address"},
		{"80:[fd00::2]80", false, `"80" stands behind a bracket`},
	} {
		_, err := ParseForward(tc.spec, tc.reverse)
		if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), forwardForm) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: got %v, want one line with %q and the form", tc.spec, err, tc.want)
		}
	}
}

func FuzzParseForward(f *testing.F) {
	for _, s := range []string{"8080:node2:80", "*:1:a:2/udp", "[::1]:22:[fd00::2]:22", "1:[fe80::1%0]:2", "[:]:[", "::::", "/", "1:a:2/"} {
		f.Add(s, false)
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, spec string, reverse bool) {
		got, err := ParseForward(spec, reverse)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("%q: error of several lines: %v", spec, err)
			}
			return
		}
		again, err := ParseForward(got.String(), reverse)
		if err != nil || again != got {
			t.Errorf("%q: %q read again: got %+v, %v, want %+v", spec, got, again, err, got)
		}
	})
}
