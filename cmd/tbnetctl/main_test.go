// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/goleak"

	"github.com/tbnet2/tbnet2/ctl"
	"github.com/tbnet2/tbnet2/ctl/ctlfake"
	"github.com/tbnet2/tbnet2/doctor"
	"github.com/tbnet2/tbnet2/lab"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestMain is also the program itself, for tests that start it, and what a lab
// starts.
func TestMain(m *testing.M) {
	if err := lab.Main(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if address := os.Getenv("TBNETCTL_TEST_WEB"); address != "" {
		serveWeb(address)
		os.Exit(0)
	}
	if os.Getenv("TBNETCTL_TEST_RUN") != "" {
		main()
	}
	goleak.VerifyTestMain(m)
}

// tool is a tbnetctl whose daemon is a fake.
type tool struct {
	*app
	fake     *ctlfake.Backend
	out, err bytes.Buffer
	ticks    chan time.Time
}

func newTool() *tool {
	t := &tool{fake: ctlfake.New(ctlfake.Sample()), ticks: make(chan time.Time)}
	t.app = &app{
		out: &t.out, err: &t.err,
		dial: func(string) backend { return t.fake },
		doctor: func(socket, config string, _ []string) *doctor.Env {
			return &doctor.Env{FS: fstest.MapFS{}, Status: t.fake.Status, Socket: socket, Config: config, Now: time.Now, Pause: func(context.Context, time.Duration) {}}
		},
		tick: func(time.Duration) (<-chan time.Time, func()) { return t.ticks, func() {} },
	}
	return t
}

// do runs one command line.
func (t *tool) do(line string) (code int, out, err string) {
	t.out.Reset()
	t.err.Reset()
	code = t.app.run(context.Background(), strings.Fields(line))
	return code, t.out.String(), t.err.String()
}

// golden compares got with testdata/NAME.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run the test with -update)", err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", path, got, want)
	}
}

// walk calls each for every command of the tree.
func walk(cmd *cobra.Command, each func(*cobra.Command)) {
	each(cmd)
	for _, c := range cmd.Commands() {
		walk(c, each)
	}
}

func TestHelp(t *testing.T) {
	tool := newTool()
	var all strings.Builder
	walk(newRoot(tool.app), func(c *cobra.Command) {
		if c.Hidden || c.Name() == "help" || c.Name() == "demo" {
			return
		}
		code, out, errs := tool.do(strings.TrimPrefix(c.CommandPath(), "tbnetctl") + " --help")
		if code != 0 || errs != "" {
			t.Errorf("%s --help: exit %d, %s", c.CommandPath(), code, errs)
		}
		fmt.Fprintf(&all, "=== %s --help\n%s\n", c.CommandPath(), out)
	})
	golden(t, "help.txt", all.String())
}

// TestErrors holds one clear line and the exit code for everything that can be
// typed wrong. Nothing may reach the daemon.
func TestErrors(t *testing.T) {
	lines := []string{
		"stat", "frobnicate", "rails", "rails lst", "bond", "lab", "lab upp", "status extra", "status --foo", "status --watch --interval 1ms",
		"status --interval soon", "rails set", "rails set node2", "rails set node2 tbr0, ", "rails set node2 tbr0,tbr1=x", "rails set node2 tbr0,,tbr1",
		"rails set node2 tbr0,tbr0", "rails set node2 tbr0 --count 2", "rails set node2 --count 0", "rails set node2 --count many", "rails set node2 tbr0 tbr1",
		"rails set nobody tbr0", "rails set node2 tbr9", "rails set node2 --count 9", "rails up", "rails down tbr9", "rails list nobody",
		"bond set tbbond0", "bond set tbbond0 --mtu 12", "bond set tbbond0 --address 10.0.0.1", "bond set nope --mtu 1500", "bond show nope",
		"bench", "bench node2 --seconds 0", "bench node2 --flows 1,65", "bench nobody", "completion", "completion tcsh",
		"up --mtu big", "up --service magic", "up --config /nonexistent/x --outlet tun", "up --uuid 5", "up --bond a/b", "up --address x",
		"daemon --outlet tun", "daemon --rail a --socks5 :1080", "daemon --rail a -L 80", "daemon --log-level loud", "daemon --rail a --rail a",
		"lab up --rate fast", "lab up --loss 200%", "lab up --hosts 1", "lab up --cable a-b --rails 2", "lab up --cable a", "lab up --mode vm", "lab up --name 9x",
		"lab status --name none", "lab unplug", "lab set cable1 speed=1", "lab exec a", "lab verify a", "lab verify --bytes much",
		"version x", "events x", "report x", "doctor x", "--socket",
	}
	t.Setenv("TBNET2_LAB_DIR", "/tmp/tbnetctl-test-none") // never made
	tool := newTool()
	before, _ := tool.fake.Status(t.Context())
	var all strings.Builder
	for _, line := range lines {
		code, out, errs := tool.do(line)
		if code == 0 || out != "" || strings.Count(errs, "\n") != 1 || !strings.HasPrefix(errs, "tbnetctl: ") {
			t.Errorf("%s: exit %d, printed %q, error %q", line, code, out, errs)
		}
		fmt.Fprintf(&all, "$ tbnetctl %s\n%s(exit %d)\n\n", line, errs, code)
	}
	golden(t, "errors.txt", all.String())
	after, _ := tool.fake.Status(t.Context())
	if a, b := mustJSON(t, before), mustJSON(t, after); a != b {
		t.Errorf("something was applied:\n%s\n%s", b, a)
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestOutput(t *testing.T) {
	lines := []string{"status", "rails list", "rails list node2 --json", "bond show", "stats", "stats --json", "rails set node2 tbr0,tbr1=2",
		"rails set node2 --count 2 --json", "rails down tbr0", "rails up tbr0 --json", "rails list", "bond set tbbond0 --mtu 9000 --address 10.0.0.1/24",
		"events", "bench node2", "bench node2 --json", "status --json"}
	tool := newTool()
	tool.fake.Emit(ctl.Event{SchemaVersion: 1, Time: time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC), Kind: ctl.EventRail, Rail: "tbr3", State: "down", Message: "rail tbr3 to node2 is down: no carrier"})
	tool.fake.SetBench(ctl.BenchResult{SchemaVersion: 1, Peer: "node2", Simulated: true, Outlet: "tap", WireBPS: 40e9, Runs: []ctl.BenchRun{
		{Direction: ctl.Sending, Flows: 1, Bytes: 5e9, Seconds: 5, BPS: 8e9}, {Direction: ctl.Receiving, Flows: 1, Bytes: 4e9, Seconds: 5, BPS: 6.4e9}}})
	var all strings.Builder
	for _, line := range lines {
		code, out, errs := tool.do(line)
		if code != 0 {
			t.Errorf("%s: exit %d, %s", line, code, errs)
		}
		fmt.Fprintf(&all, "$ tbnetctl %s\n%s\n", line, out)
		if !strings.Contains(line, "--json") {
			continue
		}
		var doc struct {
			SchemaVersion int `json:"schema_version"`
		}
		if err := json.Unmarshal([]byte(out), &doc); err != nil || doc.SchemaVersion != 1 {
			t.Errorf("%s: schema_version %d, %v", line, doc.SchemaVersion, err)
		}
	}
	golden(t, "output.txt", all.String())
}

// TestU42_UnequalDirections has one direction 1.6 times faster: a warning and
// exit code 1.
func TestU42_UnequalDirections(t *testing.T) {
	tool := newTool()
	result := ctl.BenchResult{SchemaVersion: 1, Peer: "node2", Runs: []ctl.BenchRun{
		{Direction: ctl.Sending, Flows: 1, BPS: 8e9, Seconds: 1}, {Direction: ctl.Receiving, Flows: 1, BPS: 5e9, Seconds: 1},
		{Direction: ctl.Sending, Flows: 8, BPS: 8e9, Seconds: 1}, {Direction: ctl.Receiving, Flows: 8, BPS: 7e9, Seconds: 1}}}
	tool.fake.SetBench(result)
	code, out, _ := tool.do("bench node2 --seconds 1")
	if code != exitFail || !strings.Contains(out, "WARN with 1 flow one direction is 1.60 times faster") || strings.Contains(out, "8 flows one") {
		t.Errorf("exit %d:\n%s", code, out)
	}
	result.Runs[1].BPS = 7e9 // 1.14: within the limit
	tool.fake.SetBench(result)
	if code, out, _ := tool.do("bench node2"); code != 0 || strings.Contains(out, "WARN") {
		t.Errorf("exit %d:\n%s", code, out)
	}
}

func TestDaemonErrorsAreOneLine(t *testing.T) {
	tool := newTool()
	for _, err := range []error{
		ctl.Errorf(ctl.CodeNoDaemon, "no daemon at x: start it"), errors.New("two\nlines"),
	} {
		tool.fake.Fail(err)
		for _, line := range []string{"status", "stats", "rails list", "rails set node2 tbr0", "rails up tbr0", "bond show", "bond set b --mtu 1500", "events", "bench node2"} {
			code, out, errs := tool.do(line)
			if want := "tbnetctl: " + strings.ReplaceAll(err.Error(), "\n", " ") + "\n"; code != exitFail || errs != want || out != "" {
				t.Errorf("%s: exit %d, %q, printed %q; want exit 1, %q", line, code, errs, out, want)
			}
		}
	}
}

// TestWrongSocket asks a real client for a daemon that is not there.
func TestWrongSocket(t *testing.T) {
	a := newApp()
	var out, errs bytes.Buffer
	a.out, a.err = &out, &errs
	code := a.run(t.Context(), []string{"status", "--socket", filepath.Join(t.TempDir(), "none")})
	if code != exitFail || !strings.Contains(errs.String(), "start it with `tbnetctl up`") || strings.Count(errs.String(), "\n") != 1 {
		t.Errorf("exit %d, %q", code, errs.String())
	}
}

func TestDoctorExitCodes(t *testing.T) {
	tool := newTool()
	code, out, _ := tool.do("doctor")
	if code != int(doctor.Fail) || !strings.Contains(out, "First mend the kernel") {
		t.Errorf("exit %d:\n%s", code, out)
	}
	code, out, _ = tool.do("doctor --json")
	var r struct {
		Level string
		First struct{ Layer string }
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != int(doctor.Fail) || r.Level != "FAIL" || r.First.Layer != "kernel" {
		t.Errorf("exit %d, %v: %+v", code, err, r)
	}
}

func TestReportIsNotOverwritten(t *testing.T) {
	tool := newTool()
	path := filepath.Join(t.TempDir(), "r.json")
	if code, _, errs := tool.do("report -o " + path); code != 0 {
		t.Fatalf("exit %d, %s", code, errs)
	}
	data, err := os.ReadFile(path)
	if err != nil || !json.Valid(data) || strings.Contains(string(data), "node1") {
		t.Errorf("%v: %.200s", err, data)
	}
	if code, _, errs := tool.do("report -o " + path); code != exitFail || !strings.Contains(errs, "there already") {
		t.Errorf("exit %d, %s", code, errs)
	}
}
