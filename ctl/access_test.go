// SPDX-License-Identifier: Apache-2.0

package ctl

import "testing"

func TestMayChange(t *testing.T) {
	group := Access{UID: 500, GID: 77, HasGID: true}
	cases := []struct {
		name   string
		access Access
		caller Caller
		want   bool
	}{
		{"root", group, Caller{UID: 0, GID: 0}, true},
		{"the daemon's user", group, Caller{UID: 500, GID: 1}, true},
		{"the group", group, Caller{UID: 1000, GID: 77}, true},
		{"a supplementary group", group, Caller{UID: 1000, GID: 1, Groups: []uint32{4, 77}}, true},
		{"a stranger", group, Caller{UID: 1000, GID: 1, Groups: []uint32{4}}, false},
		{"no group is not group 0", Access{UID: 0}, Caller{UID: 1000, GID: 0, Groups: []uint32{0}}, false},
	}
	for _, c := range cases {
		if got := c.access.mayChange(c.caller); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}
