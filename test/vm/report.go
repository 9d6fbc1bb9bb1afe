// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"regexp"
	"slices"
)

// kinds are the kernel's complaints, by what its log says. The first that matches
// a line names it; no test passes with one in its log, unless it expects it.
var kinds = []struct {
	name string
	said *regexp.Regexp
}{
	{"kasan", regexp.MustCompile(`BUG: KASAN: |KASAN: (null-ptr|probably|maybe)`)},
	{"lockdep", regexp.MustCompile(`WARNING: possible |WARNING: inconsistent lock|WARNING: suspicious RCU|WARNING: bad unlock balance|WARNING: held lock|INFO: trying to register non-static|DEBUG_LOCKS_WARN|BUG: Invalid wait context|=\[ BUG: `)},
	{"atomic", regexp.MustCompile(`BUG: sleeping function called|BUG: scheduling while atomic|WARNING: .*voluntary context switch|bad: scheduling from the idle`)},
	{"leak", regexp.MustCompile(`unreferenced object 0x|kmemleak: \d+ new suspected`)},
	{"list", regexp.MustCompile(`list_(add|del) corruption`)},
	{"hang", regexp.MustCompile(`INFO: task .* blocked|soft lockup|hard LOCKUP|rcu.*detected (expedited )?stall|rcu.*self-detected stall|NETDEV WATCHDOG`)},
	{"oops", regexp.MustCompile(`BUG: kernel NULL pointer|BUG: unable to handle|Oops: |general protection fault|invalid opcode: |kernel BUG at|Kernel panic|Unable to handle kernel`)},
	{"warn", regexp.MustCompile(`WARNING: CPU: |WARNING: .* at .*\+0x|ODEBUG: |UBSAN: |refcount_t: |BUG: |Modules linked in:`)},
	{"skip", regexp.MustCompile(`^ *--- SKIP: `)}, // a Go test's needs belong in its header
	{"trace", regexp.MustCompile(`Call Trace:|---\[ cut here \]---|\[ cut here \]|---\[ end trace`)},
}

// Outcomes beside the kinds.
const (
	outcomePass    = "pass"
	outcomeFail    = "fail"    // the test said so by its exit code
	outcomeTimeout = "timeout" // the guest did not end in time
	outcomeDied    = "died"    // the guest ended without an exit code: a panic, a triple fault
)

// outcomes are all that a run of a test may come to.
func outcomes() []string {
	all := []string{outcomePass, outcomeFail, outcomeTimeout, outcomeDied}
	for _, k := range kinds {
		all = append(all, k.name)
	}
	return all
}

// complaint is a line of the log, and its kind.
type complaint struct {
	kind, line string
}

// complaints finds the kernel's in a log. The test's own output is in the same
// log: a test that prints such a line fails, which is the safer side.
func complaints(log []byte) []complaint {
	var found []complaint
	lines := bufio.NewScanner(bytes.NewReader(log))
	lines.Buffer(nil, len(log)+1)
	for lines.Scan() {
		for _, k := range kinds {
			if k.said.Match(lines.Bytes()) {
				found = append(found, complaint{k.name, lines.Text()})
				break
			}
		}
	}
	return found
}

// judge says whether a test passed, and why not. ended is how the guest ended,
// one of pass, fail, timeout, died.
func judge(expect, ended string, found []complaint) (bool, string) {
	if expect == "" || slices.Contains([]string{outcomePass, outcomeFail, outcomeTimeout, outcomeDied}, expect) {
		if len(found) > 0 {
			return false, "the kernel complains: " + found[0].line
		}
		if expect == "" {
			expect = outcomePass
		}
		return ended == expect, "the guest ended with " + ended + ", not " + expect
	}
	if !slices.ContainsFunc(found, func(c complaint) bool { return c.kind == expect }) {
		return false, "the log lacks the expected " + expect + " (ended with " + ended + ")"
	}
	for _, c := range found {
		// What goes with every report: its trace, its list of modules.
		if c.kind != expect && c.kind != "trace" && c.kind != "warn" {
			return false, "beside the expected " + expect + " the kernel complains: " + c.line
		}
	}
	return true, ""
}
