// SPDX-License-Identifier: Apache-2.0

package lab_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tbnet2/tbnet2/lab"
)

func TestCommandSeesItsHostOnly(t *testing.T) {
	l := build(t, direct(lab.Pair(1, 2)), netMode(t))
	for _, tc := range []struct {
		name, script, want string
	}{
		{"devices by netlink", "ip -o link | wc -l", "3"},
		{"devices in /sys", "ls /sys/class/net | grep -c rail", "2"},
		{"host name", "hostname", "b"},
		{"lab's marks", "echo $TBNET2_LAB_HOST", "b"},
		{"machine-id", "cat /etc/machine-id", strings.ReplaceAll(l.Host("b").UUID().String(), "-", "")},
		{"loopback", "cat /sys/class/net/lo/operstate", "unknown"},
		{"own run directory", "ls /run/tbnet2; touch /run/tbnet2/x && ls /run/tbnet2", "x"},
		{"what another command left there", "ls /run/tbnet2", "x"},
		{"working directory", "pwd", cwd(t)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := os.Stat("/etc/machine-id"); err != nil && tc.name == "machine-id" {
				t.Skipf("needs a machine with an id: %v", err)
			}
			cmd, err := l.Host("b").Command(t.Context(), "sh", "-c", tc.script)
			if err != nil {
				t.Fatalf("Command: %v", err)
			}
			out, err := cmd.Output()
			if got := strings.TrimSpace(string(out)); err != nil || got != tc.want {
				t.Errorf("%s: got %q, %v, want %q", tc.script, got, err, tc.want)
			}
		})
	}
	if _, err := os.Stat("/run/tbnet2/x"); err == nil {
		t.Error("a file in a host's run directory shows outside")
	}
}

func TestCommandExitCodes(t *testing.T) {
	l := build(t, direct(lab.Pair(1, 1)), netMode(t))
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, []byte("no program"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		args []string
		want int
	}{
		{"success", []string{"true"}, 0},
		{"its own", []string{"sh", "-c", "exit 7"}, 7},
		{"no such program", []string{"no-such-program"}, 127},
		{"not executable", []string{plain}, 126},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cmd, err := l.Host("a").Command(t.Context(), tc.args[0], tc.args[1:]...)
			if err != nil {
				t.Fatalf("Command: %v", err)
			}
			var text bytes.Buffer
			cmd.Stderr = &text
			_ = cmd.Run()
			if got := cmd.ProcessState.ExitCode(); got != tc.want {
				t.Errorf("exit code %d, want %d; it said %q", got, tc.want, text.String())
			}
		})
	}
}

func TestCloseEndsProcesses(t *testing.T) {
	l := build(t, direct(lab.Pair(1, 1)), netMode(t))
	script := "trap '' TERM HUP; sleep 1000 & echo started; wait"
	cmd, out := start(t, l, "a", script)
	if err := l.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != -1 {
		t.Errorf("the command ended by itself (%v), want it killed; it said %q", err, out)
	}
}

// start runs a shell script in a host that says a word when it is on its way.
func start(t *testing.T, l *lab.Lab, host, script string) (*exec.Cmd, string) {
	t.Helper()
	cmd, err := l.Host(host).Command(context.Background(), "sh", "-c", script)
	if err != nil {
		t.Fatalf("Command: %v", err)
	}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("Start: %v", err)
	}
	word := make([]byte, 64)
	n, err := pipe.Read(word)
	if err != nil {
		t.Fatalf("the script says nothing: %v", err)
	}
	return cmd, string(word[:n])
}

func direct(t lab.Topology) lab.Topology {
	for i := range t.Cables {
		t.Cables[i].Model = lab.Direct
	}
	return t
}

func cwd(t *testing.T) string {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
