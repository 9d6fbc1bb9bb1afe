// SPDX-License-Identifier: Apache-2.0

package lab_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tbnet2/tbnet2/lab"
)

// up starts a served lab of a process of its own; it ends with the test.
func up(t *testing.T, topo lab.Topology, mode lab.Mode) (*lab.Client, lab.Info) {
	t.Helper()
	dir := stateDir(t)
	name := fmt.Sprintf("t%d", os.Getpid())
	if _, err := lab.Up(t.Context(), lab.ServeOptions{Name: name, Dir: dir, Topology: topo, Mode: mode}); err != nil {
		t.Fatalf("Up: %v", err)
	}
	c, err := lab.NewClient(dir, name)
	if err != nil {
		t.Fatalf("NewClient: %v", err)
	}
	t.Cleanup(func() {
		if _, err := c.Down(context.Background()); err != nil && !errors.Is(err, lab.ErrNoLab) {
			t.Errorf("Down: %v", err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
			t.Errorf("left in the labs' directory: %v, %v", left, err)
		}
	})
	labs, err := lab.List(dir)
	if err != nil || len(labs) != 1 || !labs[0].Running || labs[0].Name != name {
		t.Fatalf("List: %+v, %v", labs, err)
	}
	return c, labs[0]
}

// stateDir is short enough for a socket.
func stateDir(t *testing.T) string {
	dir, err := os.MkdirTemp("", "lab")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// run executes a script in a host with what it shall read.
func run(t *testing.T, c *lab.Client, host, script, input string) (int, string, error) {
	t.Helper()
	inR, inW := pipe(t)
	outR, outW := pipe(t)
	go func() {
		_, _ = io.WriteString(inW, input)
		_ = inW.Close()
	}()
	code, err := c.Exec(t.Context(), lab.ExecOptions{
		Host: host, Args: []string{"sh", "-c", script}, Stdin: inR, Stdout: outW, Stderr: outW,
	})
	_ = outW.Close()
	out, rerr := io.ReadAll(outR)
	if rerr != nil {
		t.Fatal(rerr)
	}
	return code, string(out), err
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close(); _ = w.Close() })
	return r, w
}

func TestServedExec(t *testing.T) {
	c, _ := up(t, direct(lab.Pair(1, 2)), netMode(t))
	for _, tc := range []struct {
		name, host, script, input string
		code                      int
		out                       string
	}{
		{"stdin and stdout", "a", "cat", "words\n", 0, "words\n"},
		{"stderr", "a", "echo oops >&2; exit 3", "", 3, "oops\n"},
		{"ended by a signal", "b", "kill -KILL $$", "", 137, ""},
		{"in its host", "b", "hostname; ls /sys/class/net", "", 0, "b\nlo\nrail0\nrail1\n"},
		{"working directory", "a", "pwd", "", 0, cwd(t) + "\n"},
		{"environment", "a", "echo $TBNET2_LAB_HOST", "", 0, "a\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			code, out, err := run(t, c, tc.host, tc.script, tc.input)
			if err != nil || code != tc.code || out != tc.out {
				t.Errorf("got %d %q %v, want %d %q", code, out, err, tc.code, tc.out)
			}
		})
	}
	_, _, err := run(t, c, "z", "true", "")
	if err == nil || !strings.Contains(err.Error(), `no host "z"; hosts are ["a" "b"]`) {
		t.Errorf("exec in an unknown host: %v", err)
	}
}

func TestServedExecLeavesBackground(t *testing.T) {
	c, _ := up(t, direct(lab.Pair(1, 1)), netMode(t))
	code, pid, err := run(t, c, "a", "sleep 1000 </dev/null >/dev/null 2>&1 & echo $!", "")
	if err != nil || code != 0 {
		t.Fatalf("exec: %d %v", code, err)
	}
	if code, _, err := run(t, c, "a", "kill -0 "+pid, ""); err != nil || code != 0 {
		t.Errorf("what an exec left in the background is gone: %d %v", code, err)
	}
	if _, err := c.Down(t.Context()); err != nil {
		t.Fatalf("Down: %v", err)
	}
	if alive(pid) {
		t.Errorf("process %s outlives the lab", pid)
	}
}

// alive is false also for a process that its parent has yet to take note of.
func alive(pid string) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(pid), "stat"))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func TestServedExecSignals(t *testing.T) {
	c, _ := up(t, direct(lab.Pair(1, 1)), netMode(t))
	outR, outW := pipe(t)
	_, errW := pipe(t) // the shell says there what ended its children
	type result struct {
		code int
		err  error
	}
	done := make(chan result, 1)
	go func() {
		code, err := c.Exec(t.Context(), lab.ExecOptions{
			Host: "a", Args: []string{"sh", "-c", "trap 'echo caught; exit 9' USR1; echo ready; while :; do sleep 0.05; done"},
			Stdin: outR, Stdout: outW, Stderr: errW, Signals: true,
		})
		done <- result{code, err}
	}()
	expect(t, outR, "ready\n")
	if err := syscall.Kill(os.Getpid(), syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	expect(t, outR, "caught\n")
	if r := <-done; r.err != nil || r.code != 9 {
		t.Errorf("got %d, %v, want 9", r.code, r.err)
	}
}

func TestServedExecHangsUp(t *testing.T) {
	c, _ := up(t, direct(lab.Pair(1, 1)), netMode(t))
	outR, outW := pipe(t)
	_, errW := pipe(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := c.Exec(ctx, lab.ExecOptions{
			Host: "a", Args: []string{"sh", "-c", "trap 'echo hup; exit 0' HUP; echo ready; while :; do sleep 0.05; done"},
			Stdin: outR, Stdout: outW, Stderr: errW,
		})
		done <- err
	}()
	expect(t, outR, "ready\n")
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	expect(t, outR, "hup\n")
}

func expect(t *testing.T, r io.Reader, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(r, got); err != nil || string(got) != want {
		t.Fatalf("read %q, %v, want %q", got, err, want)
	}
}

func TestServedTwice(t *testing.T) {
	c, in := up(t, direct(lab.Pair(1, 1)), netMode(t))
	st, err := c.Status(t.Context())
	if err != nil || !st.Simulated || len(st.Hosts) != 2 || len(st.Rails) != 1 {
		t.Errorf("Status: %+v, %v", st, err)
	}
	o := lab.ServeOptions{Name: in.Name, Dir: filepath.Dir(socket(t, in)), Topology: lab.Pair(1, 1), Mode: in.Mode}
	if _, err := lab.Up(t.Context(), o); !errors.Is(err, lab.ErrExists) {
		t.Errorf("Up of a lab that is up: %v, want %v", err, lab.ErrExists)
	}
}

// socket finds a lab's socket by what its process has open.
func socket(t *testing.T, in lab.Info) string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(os.TempDir(), "lab*", in.Name+".sock"))
	if err != nil || len(paths) != 1 {
		t.Fatalf("sockets of lab %s: %v, %v", in.Name, paths, err)
	}
	return paths[0]
}

func TestDownAfterCrash(t *testing.T) {
	c, in := up(t, direct(lab.Pair(1, 1)), netMode(t))
	_, pid, err := run(t, c, "a", "trap '' TERM; sleep 1000 </dev/null >/dev/null 2>&1 & echo $!", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(in.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the lab's process is gone", func() bool {
		_, err := c.Status(t.Context())
		return errors.Is(err, lab.ErrNoLab)
	})
	cleaned, err := c.Down(t.Context())
	if err != nil || !cleaned {
		t.Errorf("Down after a crash: %v, %v", cleaned, err)
	}
	if alive(pid) {
		t.Errorf("process %s outlives the lab", pid)
	}
	if left := named(t, in.Name); left != "" {
		t.Errorf("named namespaces are left: %s", left)
	}
	if _, err := c.Down(t.Context()); !errors.Is(err, lab.ErrNoLab) {
		t.Errorf("second Down: %v, want %v", err, lab.ErrNoLab)
	}
}

func TestServedIsNamed(t *testing.T) {
	if netMode(t) != lab.ModeNamespaces {
		t.Skip("needs root: only root may name namespaces")
	}
	c, in := up(t, direct(lab.Pair(1, 1)), lab.ModeNamespaces)
	st, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("ip", "netns", "exec", st.Hosts[1].NetNS, "ip", "-br", "link").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "rail0") {
		t.Errorf("ip netns exec %s: %s, %v", st.Hosts[1].NetNS, out, err)
	}
	if _, err := c.Down(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := named(t, in.Name); left != "" {
		t.Errorf("named namespaces are left: %s", left)
	}
}

// named lists what `ip netns` shows of a lab.
func named(t *testing.T, name string) string {
	t.Helper()
	paths, err := filepath.Glob("/run/netns/tbnet2-" + name + "-*")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(paths, " ")
}
