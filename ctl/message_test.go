// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestParseRequest(t *testing.T) {
	cases := []struct {
		name, line string
		code       Code   // "" for success
		says       string // in the message
		id         uint64
	}{
		{"plain", `{"v":1,"id":7,"op":"status"}` + "\n", "", "", 7},
		{"args", `{"v":1,"id":8,"op":"rail_up","args":{"rail":"a","up":true}}`, "", "", 8},
		{"empty", "\n", CodeMalformed, "ends early", 0},
		{"not json", "GET / HTTP/1.1\r\n", CodeMalformed, "invalid character 'G'", 0},
		{"cut short", `{"v":1,"id":7`, CodeMalformed, "ends early", 0},
		{"array", `[1]`, CodeMalformed, "cannot unmarshal array", 0},
		{"two values", `{"v":1,"id":7,"op":"status"}{}`, CodeMalformed, "more text", 0},
		{"unknown field", `{"v":1,"id":7,"op":"status","x":1}`, CodeMalformed, `unknown field "x"`, 0},
		{"no id", `{"v":1,"op":"status"}`, CodeMalformed, "without an id", 0},
		{"negative id", `{"v":1,"id":-1,"op":"status"}`, CodeMalformed, "number -1", 0},
		{"no op", `{"v":1,"id":9}`, CodeMalformed, "without an op", 9},
		{"too new", `{"v":2,"id":3,"op":"status"}`, CodeVersion, "too new for this daemon (tbnet2 " + Version, 3},
		{"too old", `{"id":3,"op":"status"}`, CodeVersion, "too old for this daemon (tbnet2 " + Version, 3},
		{"deep", `{"v":1,"id":1,"op":"x","args":` + strings.Repeat("[", 20000) + `}`, CodeMalformed, "", 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r, err := ParseRequest([]byte(c.line))
			if c.code == "" {
				if err != nil || r.ID != c.id {
					t.Fatalf("got id %d, error %v; want id %d", r.ID, err, c.id)
				}
				return
			}
			if err == nil || CodeOf(err) != c.code || !strings.Contains(err.Error(), c.says) || r.ID != c.id {
				t.Fatalf("got id %d, error %v (%v); want id %d, %v with %q", r.ID, err, CodeOf(err), c.id, c.code, c.says)
			}
		})
	}
}

func FuzzParseRequest(f *testing.F) {
	for _, s := range []string{
		`{"v":1,"id":7,"op":"status"}`,
		`{"v":1,"id":8,"op":"rail_up","args":{"rail":"tbr0","up":true}}`,
		`{"v":1,"id":8,"op":"rails_set","args":{"target":"node2","rails":[{"name":"tbr0","weight":2}]}}`,
		`{"v":9,"id":18446744073709551615,"op":"é\u0000"}`, `{"v":1,"id":1,"op":"x","args":nul`, "{", "\xff\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := ParseRequest(line)
		if err != nil {
			if CodeOf(err) != CodeMalformed && CodeOf(err) != CodeVersion {
				t.Fatalf("code %v of %v", CodeOf(err), err)
			}
			return
		}
		if r.ID == 0 || r.Op == "" || r.Version < ProtocolMin || r.Version > ProtocolMax {
			t.Fatalf("accepted %+v", r)
		}
		again, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		r2, err := ParseRequest(again)
		if err != nil || r2.ID != r.ID || r2.Op != r.Op {
			t.Fatalf("encoded %s, decoded %+v, %v", again, r2, err)
		}
		var set RailSet
		_ = r.decode(&set)
	})
}
