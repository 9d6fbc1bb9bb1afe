// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/tbnet2/tbnet2/lab"
)

// labTool runs this program's lab commands on labs in a folder of the test's.
type labTool struct {
	t   *testing.T
	dir string
}

func (l labTool) run(args ...string) (code int, out, errs string) {
	l.t.Helper()
	cmd := exec.Command("/proc/self/exe", append([]string{"lab"}, args...)...)
	cmd.Env = append(asProgram(), "TBNET2_LAB_DIR="+l.dir)
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	_ = cmd.Run()
	return cmd.ProcessState.ExitCode(), o.String(), e.String()
}

func (l labTool) must(args ...string) string {
	l.t.Helper()
	code, out, errs := l.run(args...)
	if code != 0 {
		l.t.Fatalf("lab %v: exit %d: %s%s", args, code, out, errs)
	}
	return out
}

func (l labTool) status() (st labDocument) {
	l.t.Helper()
	if err := json.Unmarshal([]byte(l.must("status", "--json")), &st); err != nil {
		l.t.Fatal(err)
	}
	if !st.Simulated || st.SchemaVersion != lab.SchemaVersion {
		l.t.Errorf("not marked as simulated, or version %d", st.SchemaVersion)
	}
	return st
}

// TestLab goes through all lab commands, in the best mode there is.
func TestLab(t *testing.T) {
	l := labTool{t, t.TempDir()}
	l.must("up", "--cables", "2", "--rails", "2", "--rate", "1gbit", "--delay", "100us")
	defer func() { _, _, _ = l.run("down") }()
	if code, _, errs := l.run("up"); code != 1 || !strings.Contains(errs, "tbnetctl lab down") {
		t.Errorf("up twice: exit %d, %s", code, errs)
	}
	st := l.status()
	if len(st.Hosts) != 2 || len(st.Rails) != 4 || st.Rails[3].Group != "cable2" {
		t.Fatalf("got %+v", st)
	}
	l.must("unplug", "cable1")
	l.must("set", "cable2.1", "loss=1%,delay=2ms")
	st = l.status()
	if st.Rails[0].Plugged || st.Rails[1].Plugged || !st.Rails[2].Plugged || st.Rails[3].Ends[0].Loss == 0 || st.Rails[2].Ends[0].Loss != 0 {
		t.Errorf("after unplug and set: %+v", st.Rails)
	}
	before := mustJSON(t, st.Rails[3].Ends[0].Link)
	for _, wrong := range [][]string{{"unplug", "cable9"}, {"set", "cable2", "loss=1%,from=nobody"}, {"set", "cable9", "loss=1%"}} {
		if code, _, errs := l.run(wrong...); code != 1 || strings.Count(errs, "\n") != 1 {
			t.Errorf("%v: exit %d, %s", wrong, code, errs)
		}
	}
	if after := mustJSON(t, l.status().Rails[3].Ends[0].Link); after != before {
		t.Errorf("half-applied: %s, before %s", after, before)
	}
	l.must("plug", "cable1")
	l.must("set", "cable2.1", "loss=0%,delay=0us")
	if out := l.must("verify", "--bytes", "1m", "--json"); !strings.Contains(out, `"equal": true`) || !strings.Contains(out, `"simulated": true`) {
		t.Errorf("verify: %s", out)
	}
	l.exec(st.Mode)
	l.must("down")
	if code, _, errs := l.run("status"); code != 1 || !strings.Contains(errs, "tbnetctl lab up") {
		t.Errorf("status of a lab that is down: exit %d, %s", code, errs)
	}
}

// exec runs commands in a host, where hosts can run commands.
func (l labTool) exec(mode lab.Mode) {
	l.t.Helper()
	if mode == lab.ModeMemory {
		if code, _, errs := l.run("exec", "a", "true"); code != 1 || !strings.Contains(errs, "memory") {
			l.t.Errorf("exec in memory: exit %d, %s", code, errs)
		}
		return
	}
	rail := l.status().Hosts[0].Rails[0]
	if out := l.must("exec", "a", "--", "cat", "/sys/class/net/"+rail+"/mtu"); out != "65535\n" {
		l.t.Errorf("the MTU of %s: got %q", rail, out)
	}
	if code, _, _ := l.run("exec", "b", "sh", "-c", "exit 7"); code != 7 {
		l.t.Errorf("the command's exit code: got %d, want 7", code)
	}
	if code, _, errs := l.run("exec", "nobody", "true"); code != 1 || !strings.Contains(errs, "nobody") {
		l.t.Errorf("an unknown host: exit %d, %s", code, errs)
	}
}
