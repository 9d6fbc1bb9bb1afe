// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
)

// TestMain is also the process that TestStop stops.
func TestMain(m *testing.M) {
	if path := os.Getenv("SETUP_TEST_PIDFILE"); path != "" {
		p, err := TakePidFile(path)
		if err != nil {
			println(err.Error())
			os.Exit(1)
		}
		stop := term()
		println("ready")
		select {
		case <-stop:
			_ = p.Close()
			os.Exit(0)
		case <-time.After(time.Minute):
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// TestStateKeepsTheFirst runs `up` twice: `down` must restore what was before
// the first.
func TestStateKeepsTheFirst(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "run", "s")
	if _, err := LoadState(socket); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no state: got %v", err)
	}
	for _, c := range []Change{{Device: "a", MTUBefore: 1500, MTU: 9000}, {Device: "a", MTUBefore: 9000, MTU: 65520, UpBefore: true}, {Device: "b", MTUBefore: 1500, MTU: 1500}} {
		if err := SaveState(socket, State{Service: InBackground, Config: "c", Changes: []Change{c}}); err != nil {
			t.Fatal(err)
		}
	}
	want := State{SchemaVersion: 1, Service: InBackground, Config: "c", Changes: []Change{{Device: "a", MTUBefore: 1500, MTU: 65520}, {Device: "b", MTUBefore: 1500, MTU: 1500}}}
	if got, err := LoadState(socket); err != nil || !cmp.Equal(got, want) {
		t.Errorf("got %v\n%s", err, cmp.Diff(want, got))
	}
	if err := errors.Join(RemoveState(socket), RemoveState(socket)); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(StatePath(socket), []byte(`{"schema_version":9}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadState(socket); err == nil || !strings.Contains(err.Error(), "version 9") {
		t.Errorf("newer state: got %v", err)
	}
}

func TestStop(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pid")
	if err := os.WriteFile(path, []byte("1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if pid, err := Running(path); pid != 0 || err != nil {
		t.Errorf("a file nobody holds: got %d, %v", pid, err)
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "SETUP_TEST_PIDFILE="+path)
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	if pid, err := Running(path); pid != cmd.Process.Pid || err != nil {
		t.Errorf("got %d, %v; want %d", pid, err, cmd.Process.Pid)
	}
	if _, err := TakePidFile(path); err == nil {
		t.Error("two processes have the file")
	}
	if err := Stop(t.Context(), path); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the daemon ended badly: %v", err)
	}
	if err := Stop(t.Context(), path); err != nil {
		t.Errorf("stop a stopped one: %v", err)
	}
}

func TestBackgroundTellsWhyItEnded(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(log, []byte("of an earlier start\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := StartBackground([]string{"/bin/sh", "-c", "echo first; echo the reason >&2; exit 3"}, log)
	if err != nil {
		t.Fatal(err)
	}
	<-b.Exited
	if b.Err == nil || !strings.Contains(b.Err.Error(), "exit status 3: the reason") {
		t.Errorf("got %v", b.Err)
	}
	if b, err = StartBackground([]string{"/bin/true"}, log); err != nil {
		t.Fatal(err)
	}
	<-b.Exited
	if b.Err == nil || strings.Contains(b.Err.Error(), "reason") {
		t.Errorf("got %v, an earlier start's reason", b.Err)
	}
}

func TestKernelLinks(t *testing.T) {
	inNamespace(t)
	veth := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "va"}, PeerName: "vb"}
	if err := netlink.LinkAdd(veth); err != nil {
		t.Fatal(err)
	}
	k := Kernel{}
	get := func() Link {
		t.Helper()
		links, err := k.List()
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range links {
			if l.Name == "va" {
				return l
			}
		}
		t.Fatal("va is not listed")
		return Link{}
	}
	want := Link{Name: "va", Kind: "veth", MTU: 1500, MaxMTU: 65535}
	if got := get(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if err := errors.Join(k.SetMTU("va", 9000), k.SetUp("va", true)); err != nil {
		t.Fatal(err)
	}
	if got := get(); got.MTU != 9000 || !got.Up {
		t.Errorf("after the changes: %+v", got)
	}
	if err := k.SetMTU("va", 70000); err == nil || !strings.Contains(err.Error(), "MTU of va to 70000") {
		t.Errorf("an MTU that cannot be: got %v", err)
	}
	if err := errors.Join(k.SetUp("va", false), k.Delete("va"), k.Delete("va")); err != nil {
		t.Error(err)
	}
}
