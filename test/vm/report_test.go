// SPDX-License-Identifier: Apache-2.0

package main

import "testing"

// Each line is one that a kernel printed or prints by its source, 6.1 or 6.12.
func TestComplaints(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"[    3.1] WARNING: CPU: 1 PID: 71 at trip.c:28 trip_warn+0x15/0x20 [trip]", "warn"},
		{"[    3.1] BUG: kernel NULL pointer dereference, address: 0000000000000008", "oops"},
		{"[    3.1] Oops: 0002 [#1] PREEMPT SMP NOPTI", "oops"},
		{"[    3.1] kernel BUG at lib/list_debug.c:29!", "oops"},
		{"[    3.1] BUG: KASAN: slab-use-after-free in trip_uaf+0x4b/0x60 [trip]", "kasan"},
		{"[    3.1] WARNING: possible circular locking dependency detected", "lockdep"},
		{"[    3.1] WARNING: possible recursive locking detected", "lockdep"},
		{"[    3.1] WARNING: inconsistent lock state", "lockdep"},
		{"[    3.1] WARNING: suspicious RCU usage", "lockdep"},
		{"[    3.1] BUG: sleeping function called from invalid context at kernel/locking/mutex.c:1", "atomic"},
		{"[    3.1] BUG: scheduling while atomic: insmod/77/0x00000002", "atomic"},
		{"unreferenced object 0xffff888003a4d100 (size 128):", "leak"},
		{"[    3.1] list_del corruption, ffffc90000117d50->next is LIST_POISON1 (dead000000000100)", "list"},
		{"[    3.1] rcu: INFO: rcu_preempt self-detected stall on CPU", "hang"},
		{"[    3.1] watchdog: BUG: soft lockup - CPU#0 stuck for 26s! [insmod:77]", "hang"},
		{"[    3.1] INFO: task insmod:77 blocked for more than 120 seconds.", "hang"},
		{"[    3.1] Kernel panic - not syncing: Fatal exception", "oops"},
		{"[    3.1] BUG: something a later kernel will think of", "warn"},
		{"[    3.1] Call Trace:", "trace"},
		{"[    0.2] Spectre V2 : Mitigation: Retpolines", ""},
		{"[    0.3] debug: ignoring loglevel setting.", ""},
		{"[    3.1] lkdtm: debugging", ""},
	} {
		got := ""
		if found := complaints([]byte("before\n" + c.line + "\nafter\n")); len(found) > 0 {
			got = found[0].kind
		}
		if got != c.want {
			t.Errorf("%q: got %q, want %q", c.line, got, c.want)
		}
	}
}

func TestJudge(t *testing.T) {
	warn, oops, trace := complaint{"warn", "w"}, complaint{"oops", "o"}, complaint{"trace", "t"}
	for _, c := range []struct {
		expect, ended string
		found         []complaint
		want          bool
	}{
		{"", outcomePass, nil, true},
		{"", outcomeFail, nil, false},
		{"", outcomeTimeout, nil, false},
		{"", outcomeDied, nil, false},
		{"", outcomePass, []complaint{warn}, false},
		{"", outcomePass, []complaint{trace}, false},
		{"fail", outcomeFail, nil, true},
		{"fail", outcomePass, nil, false},
		{"fail", outcomeFail, []complaint{warn}, false},
		{"warn", outcomePass, nil, false},
		{"warn", outcomePass, []complaint{warn, trace}, true},
		{"warn", outcomePass, []complaint{warn, oops}, false},
		{"oops", outcomeDied, []complaint{oops, trace}, true},
		{"oops", outcomeDied, []complaint{trace}, false},
	} {
		if got, why := judge(c.expect, c.ended, c.found); got != c.want {
			t.Errorf("judge(%q, %q, %v) = %v (%s), want %v", c.expect, c.ended, c.found, got, why, c.want)
		}
	}
}
