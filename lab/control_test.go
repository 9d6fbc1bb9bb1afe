// SPDX-License-Identifier: Apache-2.0

package lab_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tbnet2/tbnet2/lab"
)

func TestServedInMemory(t *testing.T) {
	c, in := up(t, lab.Pair(2, 1), lab.ModeMemory)
	code, _, err := run(t, c, "a", "true", "")
	if !errors.Is(err, lab.ErrNoCommand) || !strings.Contains(err.Error(), "use a lab in namespaces") {
		t.Errorf("exec in memory: %d, %v, want %v and what to do", code, err, lab.ErrNoCommand)
	}
	if err := c.Unplug(t.Context(), "cable2"); err != nil {
		t.Errorf("Unplug: %v", err)
	}
	loss := lab.Percent
	if err := c.Set(t.Context(), "cable1", lab.Change{Loss: &loss, From: "b"}); err != nil {
		t.Errorf("Set: %v", err)
	}
	if err := c.Set(t.Context(), "cable3", lab.Change{Loss: &loss}); err == nil || !strings.Contains(err.Error(), `no cable, segment or rail "cable3"`) {
		t.Errorf("Set of an unknown cable: %v", err)
	}
	st, err := c.Status(t.Context())
	if err != nil || st.Name != in.Name || st.Mode != lab.ModeMemory || !st.Simulated {
		t.Fatalf("Status: %+v, %v", st, err)
	}
	got := fmt.Sprint(st.Rails[0].Plugged, st.Rails[1].Plugged, st.Rails[0].Ends[0].Loss, st.Rails[0].Ends[1].Loss)
	if want := "true false 0 1%"; got != want {
		t.Errorf("plugged and losses are %s, want %s", got, want)
	}
}

func TestControlProtocol(t *testing.T) {
	_, in := up(t, lab.Pair(1, 1), lab.ModeMemory)
	for _, tc := range []struct{ name, send, want string }{
		{"other version", `{"version":9,"op":"status"}`, `control version 9: this lab speaks 1; use the tbnetctl that started it`},
		{"unknown request", `{"version":1,"op":"fly"}`, `unknown request \"fly\"`},
		{"set without a change", `{"version":1,"op":"set","target":"cable1"}`, `nothing to change is named`},
		{"exec without a command", `{"version":1,"op":"exec"}`, `no command is named`},
		{"exec without descriptors", `{"version":1,"op":"exec","exec":{"host":"a","args":["true"]}}`, `"code":"no_command"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			conn, err := net.Dial("unix", socket(t, in))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := fmt.Fprintln(conn, tc.send); err != nil {
				t.Fatal(err)
			}
			got, err := bufio.NewReader(conn).ReadString('\n')
			if err != nil || !strings.Contains(got, tc.want) {
				t.Errorf("got %s, %v, want %s in it", got, err, tc.want)
			}
		})
	}
	conn, err := net.Dial("unix", socket(t, in))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() // says nothing: the lab must go down nevertheless
}

func TestUpAfterCrash(t *testing.T) {
	c, in := up(t, direct(lab.Pair(1, 1)), netMode(t))
	dir := filepath.Dir(socket(t, in))
	_, pid, err := run(t, c, "a", "sleep 1000 </dev/null >/dev/null 2>&1 & echo $!", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(in.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the lab shows as crashed", func() bool {
		labs, err := lab.List(dir)
		return err == nil && len(labs) == 1 && !labs[0].Running
	})
	o := lab.ServeOptions{Name: in.Name, Dir: dir, Topology: direct(lab.Pair(1, 2)), Mode: in.Mode}
	st, err := lab.Up(t.Context(), o)
	if err != nil || len(st.Rails) != 2 {
		t.Fatalf("Up after a crash: %+v, %v", st, err)
	}
	if alive(pid) {
		t.Errorf("process %s of the crashed lab is alive", pid)
	}
}

func TestUpSaysWhatIsWrong(t *testing.T) {
	dir := stateDir(t)
	long := filepath.Join(dir, strings.Repeat("x", 100))
	bad := lab.Pair(1, 1)
	bad.Cables[0].MTU = 5
	for _, tc := range []struct {
		name string
		o    lab.ServeOptions
		want string
	}{
		{"name", lab.ServeOptions{Name: "a/b", Dir: dir, Topology: lab.Pair(1, 1)}, `bad lab name "a/b"`},
		{"directory", lab.ServeOptions{Name: "x", Dir: long, Topology: lab.Pair(1, 1)}, "too long for a socket"},
		{"topology", lab.ServeOptions{Name: "x", Dir: dir, Topology: bad}, "cable cable1: mtu is 5"},
		{"mode", lab.ServeOptions{Name: "x", Dir: dir, Topology: lab.Pair(1, 1), Mode: "magic"}, `unknown mode "magic"`},
		{"built too late to tell", lab.ServeOptions{Name: "x", Dir: dir, Topology: lab.Switched(2, 1), Mode: lab.ModeMemory}, "memory has no switches"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := lab.Up(t.Context(), tc.o)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q in it", err, tc.want)
			}
			if left, err := filepath.Glob(filepath.Join(dir, "x*.*")); err != nil || len(left) != 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}
