// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/vishvananda/netlink"

	"github.com/tbnet2/tbnet2/cmd/tbnetctl/internal/setup"
	"github.com/tbnet2/tbnet2/ctl"
)

// TestUpAndDown brings a bond up on two hosts, uses and changes it, and takes
// it down again: afterwards all is as before.
func TestUpAndDown(t *testing.T) {
	if !asRoot(t) {
		return
	}
	a, b := newHosts(t, 3)
	a.must("up", "a0", "a1", "a2", "--host", "node1", "--wait", "0")
	code, out, errs := b.run("up", "b0", "b1", "b2", "--host", "node2", "--address", "10.77.0.2/24")
	if code != 0 || !strings.Contains(out, "peers: node1 (") {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	s := a.await("three rails are up", func(s *ctl.Status) bool { return upRails(s) == 3 })
	if !s.Simulated || s.Bonds[0].Name != "tbbond0" || !s.Bonds[0].Carrier || s.Peers[0].Name != "node2" || a.mtu("a0") != 65535 {
		t.Errorf("%+v, MTU %d", s, a.mtu("a0"))
	}
	if out := b.must("bond", "show"); !strings.Contains(out, "10.77.0.2/24") {
		t.Errorf("the address is missing:\n%s", out)
	}

	// The headline command.
	if out := a.must("rails", "set", "node2", "a0,a1=2"); out != "node2: a0, a1=2\n" {
		t.Errorf("got %q", out)
	}
	s = a.status()
	if upRails(s) != 2 || s.Rails[1].Weight != 2 || s.Rails[2].InUse {
		t.Errorf("after rails set: %+v", s.Rails)
	}
	before := mustJSON(t, inUse(s))
	for _, wrong := range [][]string{{"rails", "set", "node2", "a0,a9"}, {"rails", "set", "node2", "--count", "4"}, {"rails", "set", "node9", "a0"}, {"rails", "down", "a9"}} {
		if code, _, errs := a.run(wrong...); code != 1 || strings.Count(errs, "\n") != 1 {
			t.Errorf("%v: exit %d, %s", wrong, code, errs)
		}
	}
	if after := mustJSON(t, inUse(a.status())); after != before {
		t.Errorf("half-applied: %s, before %s", after, before)
	}
	a.must("rails", "set", "tbbond0", "--count", "3")
	a.must("rails", "down", "a2")
	a.await("a2 is off", func(s *ctl.Status) bool { r, _ := s.Rail("a2"); return !r.Enabled && r.State != ctl.RailUp })
	a.must("rails", "up", "a2")
	a.await("a2 is back", func(s *ctl.Status) bool { return upRails(s) == 3 })
	if out := a.must("events"); !strings.Contains(out, "rail a2 to node2 is down: taken down by hand") {
		t.Errorf("no event of it:\n%s", out)
	}

	benchmark(t, a)
	reported(t, a)
	down(t, a, b)
}

// reported looks for names and addresses of the two hosts in a report of one.
func reported(t *testing.T, a *host) {
	t.Helper()
	s := a.status()
	secrets := []string{"node1", "node2", s.Host.UUID, s.Peers[0].UUID}
	for _, name := range []string{"a0", "a1", "a2", "tbbond0"} {
		l, _ := a.link(name)
		secrets = append(secrets, l.Attrs().HardwareAddr.String())
	}
	for _, addr := range append(s.Bonds[0].Addresses, s.Peers[0].Addresses...) {
		bare, _, _ := strings.Cut(addr, "/")
		secrets = append(secrets, bare)
	}
	out := strings.ToLower(a.must("report", "-o", "-"))
	for _, secret := range secrets {
		if strings.Contains(out, strings.ToLower(secret)) {
			t.Errorf("the report tells %s", secret)
		}
	}
	if len(secrets) < 10 || !strings.Contains(out, `"tx_frames"`) || !strings.Contains(out, `"osrelease"`) && !strings.Contains(out, `"kernel"`) {
		t.Errorf("%d secrets looked for in a report of %d bytes", len(secrets), len(out))
	}
}

// TestU43_UnequalMTUOfTwoHosts has cables whose ends differ in MTU, and a
// doctor who says so on either host.
func TestU43_UnequalMTUOfTwoHosts(t *testing.T) {
	if !asRoot(t) {
		return
	}
	a, b := newHosts(t, 1)
	if out := a.must("up", "a0", "--dry-run"); !strings.Contains(out, "would set the MTU of a0 from 1500 to 65535\nwould set a0 up\n") || a.mtu("a0") != 1500 {
		t.Errorf("dry run, MTU %d: %s", a.mtu("a0"), out)
	}
	a.must("up", "a0", "--host", "node1", "--wait", "0")
	b.must("up", "b0", "--host", "node2", "--mtu", "9000")
	for h, want := range map[*host]string{a: "a0 (a0) has 65535 here and 9000 at node2", b: "b0 (b0) has 9000 here and 65535 at node1"} {
		h.await("the rail is up", func(s *ctl.Status) bool { return upRails(s) == 1 })
		code, out, _ := h.run("doctor")
		if code != 1 || !strings.Contains(out, want) {
			t.Errorf("%s: exit %d, no %q in\n%s", h.name, code, want, out)
		}
	}
}

// TestOneUUIDTwice has two hosts of one UUID, as after copying a disk: no
// bond, and both say why by name.
func TestOneUUIDTwice(t *testing.T) {
	if !asRoot(t) {
		return
	}
	a, b := newHosts(t, 1)
	const id = "0f0e0d0c-0b0a-4908-8706-050403020100"
	a.must("up", "a0", "--host", "node1", "--uuid", id, "--wait", "0")
	b.must("up", "b0", "--host", "copy1", "--uuid", id, "--wait", "0")
	for _, h := range []*host{a, b} {
		h.await("the conflict is seen", func(s *ctl.Status) bool {
			for _, w := range s.Warnings {
				if w.Code == "uuid_conflict" && strings.Contains(w.Message, "node1") && strings.Contains(w.Message, "copy1") {
					return true
				}
			}
			return false
		})
		if code, out, _ := h.run("doctor"); code != 2 || !strings.Contains(out, "FAIL  host UUIDs") {
			t.Errorf("%s: exit %d\n%s", h.name, code, out)
		}
	}
}

func inUse(s *ctl.Status) map[string]int {
	out := map[string]int{}
	for i := range s.Rails {
		if s.Rails[i].InUse {
			out[s.Rails[i].Name] = s.Rails[i].Weight
		}
	}
	return out
}

// benchmark runs one second in each direction.
func benchmark(t *testing.T, a *host) {
	t.Helper()
	code, out, errs := a.run("bench", "node2", "--seconds", "1", "--flows", "1", "--json")
	if code > 1 { // 1: a busy machine may make the directions unequal
		t.Fatalf("bench: exit %d: %s", code, errs)
	}
	var r benchOutput
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("bench: exit %d, %v: %s%s", code, err, out, errs)
	}
	if len(r.Runs) != 2 || r.Runs[0].Bytes < 1<<20 || r.Runs[1].Bytes < 1<<20 || !r.Simulated || len(r.Ratios) != 1 || r.Outlet != "tap" {
		t.Errorf("bench: %+v", r)
	}
	s := a.status()
	for i := range s.Rails {
		if s.Rails[i].Counters.TxBytes == 0 {
			t.Errorf("rail %s carried nothing", s.Rails[i].Name)
		}
	}
}

// down takes both hosts down and looks for what is left.
func down(t *testing.T, a, b *host) {
	t.Helper()
	if out := a.must("down", "--dry-run"); !strings.Contains(out, "would remove tbbond0") {
		t.Errorf("dry run: %s", out)
	}
	if _, there := a.link("tbbond0"); !there {
		t.Error("the dry run has removed the bond")
	}
	a.must("down")
	b.must("down", "--keep")
	for h, kept := range map[*host]bool{a: false, b: true} {
		if _, there := h.link("tbbond0"); there != kept {
			t.Errorf("%s: the bond's device is there: %v, want %v", h.name, there, kept)
		}
		for i := range 3 {
			name := fmt.Sprint(h.name, i)
			if l, _ := h.link(name); h.mtu(name) != 1500 || l.Attrs().Flags&net.FlagUp != 0 {
				t.Errorf("%s has MTU %d, flags %v; it had 1500 and was down", name, h.mtu(name), l.Attrs().Flags)
			}
		}
		if _, err := os.Stat(h.config()); err != nil {
			t.Errorf("the configuration is gone: %v", err)
		}
	}
	if code, _, errs := a.run("down"); code != 1 || !strings.Contains(errs, "nothing is up here") {
		t.Errorf("down twice: exit %d, %s", code, errs)
	}
}

// TestU3_BondOutlivesTheDaemon restarts a daemon: index and addresses of the
// bond's device stay, also those an administrator has added, and the peer is
// found again.
func TestU3_BondOutlivesTheDaemon(t *testing.T) {
	if !asRoot(t) {
		return
	}
	a, b := newHosts(t, 1)
	a.must("up", "a0", "--wait", "0")
	b.must("up", "b0")
	a.must("bond", "set", "tbbond0", "--address", "10.77.1.1/24")
	before, _ := a.link("tbbond0")
	a.must("down", "--keep")
	b.await("the peer is missed", func(s *ctl.Status) bool { return len(s.Peers) == 0 || s.Peers[0].State != ctl.PeerConnected })
	if l, there := b.link("tbbond0"); !there || l.Attrs().OperState == netlink.OperUp {
		t.Errorf("the bond of the other host: there %v, want it there without carrier", there)
	}
	a.must("up", "a0")
	after, there := a.link("tbbond0")
	if !there || after.Attrs().Index != before.Attrs().Index {
		t.Errorf("the device has another index")
	}
	if out := a.must("bond", "show"); !strings.Contains(out, "10.77.1.1/24") {
		t.Errorf("the address is gone:\n%s", out)
	}
}

// TestDeviceComesAndGoes takes a rail's device away altogether, as a stock
// kernel does when the other host reboots, and brings another of its name.
func TestDeviceComesAndGoes(t *testing.T) {
	if !asRoot(t) {
		return
	}
	a, b := newHosts(t, 2)
	a.must("up", "a0", "a1", "--wait", "0")
	b.must("up", "b0", "b1")
	a.await("two rails are up", func(s *ctl.Status) bool { return upRails(s) == 2 })
	l, _ := a.link("a1")
	if err := a.nl.LinkDel(l); err != nil {
		t.Fatal(err)
	}
	a.await("a1 is missing", func(s *ctl.Status) bool {
		r, ok := s.Rail("a1")
		return ok && r.Reason == "no such device" && upRails(s) == 1
	})
	a.cable(b, 1)
	a.await("a1 is back", func(s *ctl.Status) bool { return upRails(s) == 2 })
	if a.mtu("a1") != 65535 {
		t.Errorf("the new device has MTU %d", a.mtu("a1"))
	}
}

// TestUpUndoesItself lets the daemon fail to start: devices and configuration
// are as before, and the reason is told.
func TestUpUndoesItself(t *testing.T) {
	if !asRoot(t) {
		return
	}
	a, _ := newHosts(t, 1)
	if err := a.nl.LinkAdd(&netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "tbbond0"}}); err != nil { // in the way
		t.Fatal(err)
	}
	code, _, errs := a.run("up", "a0")
	if code != 1 || !strings.Contains(errs, "tbbond0") {
		t.Errorf("exit %d, %s", code, errs)
	}
	if l, _ := a.link("a0"); a.mtu("a0") != 1500 || l.Attrs().Flags&net.FlagUp != 0 {
		t.Errorf("a0 was left at MTU %d, %v", a.mtu("a0"), l.Attrs().Flags)
	}
	if _, err := os.Stat(a.config()); err == nil {
		t.Error("the configuration was left behind")
	}
}

// TestReload changes the configuration of a running daemon, rightly and
// wrongly.
func TestReload(t *testing.T) {
	if !asRoot(t) {
		return
	}
	a, b := newHosts(t, 2)
	a.must("up", "a0", "--wait", "0", "--bond-mtu", "8000") // below what the rails allow, which varies
	b.must("up", "b0", "b1")
	good, err := os.ReadFile(a.config())
	if err != nil {
		t.Fatal(err)
	}
	before := settings(a.status())
	for name, c := range map[string]struct{ text, want string }{
		"a typing error":     {string(good) + "\n[rail a1]\ndevcie = a1\n", `unknown key "devcie" in [rail a1]`},
		"what needs restart": {strings.Replace(string(good), "name = tbbond0", "name = tbbond1", 1), "name in [bond] cannot be changed while the daemon runs"},
		"an address":         {strings.Replace(string(good), "mtu = 8000", "mtu = 1400\naddress = 224.0.0.1/4", 1), "no address that a bond can have"},
	} {
		write(t, a.config(), c.text)
		code, _, errs := a.run("daemon", "--reload")
		if code != 1 || !strings.Contains(errs, c.want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: exit %d, %s", name, code, errs)
		}
		if after := settings(a.status()); after != before {
			t.Errorf("%s: half-applied: %s, before %s", name, after, before)
		}
	}
	write(t, a.config(), strings.Replace(string(good), "mtu = 8000", "mtu = 9000\naddress = 10.77.2.1/24", 1)+"\n[rail second]\ndevice = a1\nweight = 3\n")
	a.must("daemon", "--reload")
	s := a.await("two rails are up", func(s *ctl.Status) bool { return upRails(s) == 2 })
	hangUp(t, a)
	if r, ok := s.Rail("second"); !ok || r.Device != "a1" || s.Bonds[0].MTU != 9000 || !strings.Contains(mustJSON(t, s.Bonds), "10.77.2.1/24") {
		t.Errorf("after the reload: %+v, %+v", s.Bonds, r)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// settings are what a reload could change of the bond and the rails.
func settings(s *ctl.Status) string {
	out := fmt.Sprint(s.Bonds[0].Name, s.Bonds[0].MTU, s.Bonds[0].Addresses)
	for i := range s.Rails {
		out += fmt.Sprint(" ", s.Rails[i].Name, s.Rails[i].Device, s.Rails[i].Weight)
	}
	return out
}

// hangUp has the daemon read a wrong configuration by SIGHUP: it says so in
// its log and goes on.
func hangUp(t *testing.T, h *host) {
	t.Helper()
	good := mustRead(t, h.config())
	defer write(t, h.config(), string(good))
	write(t, h.config(), "[bond")
	pid, err := setup.Running(h.socket() + ".pid")
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	h.await("the log tells", func(*ctl.Status) bool {
		return strings.Contains(string(mustRead(t, h.socket()+".log")), "nothing has changed")
	})
}
