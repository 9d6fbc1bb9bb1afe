// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"github.com/tbnet2/tbnet2/ctl"
	"github.com/tbnet2/tbnet2/lab"
)

// host is a network and mount namespace, held by a process that waits for its
// input to end. Its daemon's files are in a folder of its own.
type host struct {
	t    *testing.T
	name string
	pid  int
	dir  string
	nl   *netlink.Handle
}

// asRoot runs the calling test in a user namespace where it is not root. It
// reports whether the test goes on here.
func asRoot(t *testing.T) bool {
	t.Helper()
	if os.Geteuid() == 0 {
		return true
	}
	if s := lab.Detect().Get(lab.ModeUserNamespace); !s.OK {
		t.Skipf("needs root, or a user namespace: %s", s.Why)
	}
	if tun, err := os.OpenFile("/dev/net/tun", os.O_RDWR, 0); err != nil {
		t.Skipf("needs root, or access to the TUN device: %v", err)
	} else {
		_ = tun.Close()
	}
	var out bytes.Buffer
	code, err := lab.Enter(t.Context(), lab.EnterOptions{Args: []string{"-test.run=^" + t.Name() + "$", "-test.v"}, Stdout: &out, Stderr: &out})
	if err != nil || code != 0 {
		t.Fatalf("in a user namespace: exit %d, %v\n%s", code, err, out.String())
	}
	return false
}

// newHosts makes two hosts with n veth pairs between them, a0-b0, a1-b1, ...
func newHosts(t *testing.T, n int) (a, b *host) {
	t.Helper()
	a, b = newHost(t, "a"), newHost(t, "b")
	for i := range n {
		a.cable(b, i)
	}
	return a, b
}

func newHost(t *testing.T, name string) *host {
	t.Helper()
	// A sysfs of its own, which shows the namespace's devices.
	cmd := exec.Command("sh", "-c", "mount --make-rprivate / && mount -t sysfs sysfs /sys && echo ready && exec cat")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 6)); err != nil {
		t.Fatalf("host %s: %v", name, err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	ns, err := netns.GetFromPid(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ns.Close() }()
	nl, err := netlink.NewHandleAt(ns)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nl.Close)
	h := &host{t: t, name: name, pid: cmd.Process.Pid, dir: t.TempDir(), nl: nl}
	t.Cleanup(func() { // the daemon, should the test have left it
		if _, err := os.Stat(h.socket() + ".pid"); err == nil {
			_, _, _ = h.run("down")
		}
	})
	return h
}

func (h *host) cable(to *host, i int) {
	h.t.Helper()
	veth := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: fmt.Sprint(h.name, i)}, PeerName: fmt.Sprint(to.name, i), PeerNamespace: netlink.NsPid(to.pid)}
	if err := h.nl.LinkAdd(veth); err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) socket() string { return filepath.Join(h.dir, "sock") }
func (h *host) config() string { return filepath.Join(h.dir, "config") }

// run runs tbnetctl in the host.
func (h *host) run(args ...string) (code int, out, errs string) {
	h.t.Helper()
	self, err := os.Executable()
	if err != nil {
		h.t.Fatal(err)
	}
	all := []string{"-t", fmt.Sprint(h.pid), "-n", "-m", self}
	all = append(all, args...)
	all = append(all, "--socket", h.socket())
	switch args[0] {
	case "up", "down", "daemon", "doctor":
		all = append(all, "--config", h.config())
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "nsenter", all...)
	cmd.Env = append(asProgram(), "TBNET2_LAB_HOST="+h.name)
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	_ = cmd.Run()
	return cmd.ProcessState.ExitCode(), o.String(), e.String()
}

// asProgram is the environment in which this test is tbnetctl. The race
// detector need not wait a second at the end of each.
func asProgram() []string {
	return append(os.Environ(), "TBNETCTL_TEST_RUN=1", "GORACE=atexit_sleep_ms=0")
}

// must runs tbnetctl and wants exit code 0.
func (h *host) must(args ...string) string {
	h.t.Helper()
	code, out, errs := h.run(args...)
	if code != 0 {
		log, _ := os.ReadFile(h.socket() + ".log")
		h.t.Fatalf("%s: tbnetctl %v: exit %d: %s%s\n%s", h.name, args, code, out, errs, log)
	}
	return out
}

func (h *host) status() *ctl.Status {
	h.t.Helper()
	s := new(ctl.Status)
	if err := json.Unmarshal([]byte(h.must("status", "--json")), s); err != nil {
		h.t.Fatal(err)
	}
	return s
}

// await polls the status until cond holds.
func (h *host) await(what string, cond func(*ctl.Status) bool) *ctl.Status {
	h.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(20 * time.Second); ; <-tick.C {
		s := h.status()
		if cond(s) {
			return s
		}
		if time.Now().After(deadline) {
			h.t.Fatalf("%s: waited in vain until %s: %+v", h.name, what, s)
		}
	}
}

func (h *host) link(name string) (netlink.Link, bool) {
	h.t.Helper()
	l, err := h.nl.LinkByName(name)
	if _, missing := err.(netlink.LinkNotFoundError); missing {
		return nil, false
	}
	if err != nil {
		h.t.Fatal(err)
	}
	return l, true
}

func (h *host) mtu(name string) int {
	h.t.Helper()
	l, there := h.link(name)
	if !there {
		h.t.Fatalf("%s has no %s", h.name, name)
	}
	return l.Attrs().MTU
}

// upRails counts the rails that are up and in use.
func upRails(s *ctl.Status) int {
	n := 0
	for i := range s.Rails {
		if r := &s.Rails[i]; r.State == ctl.RailUp && r.InUse {
			n++
		}
	}
	return n
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
