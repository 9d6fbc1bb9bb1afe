// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/tbnet2/tbnet2/ctl"
	"github.com/tbnet2/tbnet2/ctl/ctlfake"
)

// tree is a machine's file system, by path.
type tree map[string]string

// machineTree is a healthy machine: one controller, two cables at 2 x 20 Gb/s,
// a network device on each, the bond up.
func machineTree() tree {
	t := tree{
		"proc/sys/kernel/osrelease": "6.12.5-amd64\n", "proc/sys/kernel/hostname": "node1\n",
		"proc/cpuinfo": "processor\t: 0\nmodel name\t: Some CPU\nprocessor\t: 1\n",
		"sys/module/thunderbolt/parameters/host_reset": "Y\n", "sys/module/thunderbolt_net/initstate": "live\n", "sys/module/tun/version": "1.6\n",
		"sys/bus/thunderbolt/devices/domain0/security": "iommu+user\n", "sys/bus/thunderbolt/devices/domain0/iommu_dma_protection": "1\n",
		"sys/bus/thunderbolt/devices/0-0/generation": "4\n", "sys/bus/thunderbolt/devices/0-0/authorized": "1\n",
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "schedutil\n",
		"etc/tbnet2/config": "",
	}
	t.cable("0-1", "thunderbolt0", 20, 2)
	t.cable("0-3", "thunderbolt1", 20, 2)
	t.netdev("tbbond0", "9", 65264)
	return t
}

func (t tree) cable(name, device string, speed, lanes int) {
	dir := "sys/bus/thunderbolt/devices/" + name
	for _, way := range []string{"rx", "tx"} {
		t[dir+"/"+way+"_speed"] = fmt.Sprintf("%d.0 Gb/s\n", speed)
		t[dir+"/"+way+"_lanes"] = fmt.Sprintf("%d\n", lanes)
	}
	t[dir+"/unique_id"] = "33333333-3333-4333-8333-333333333333\n"
	t[dir+"/"+name+".0/key"] = "network\n"
	if device != "" {
		t[dir+"/"+name+".0/net/"+device+"/mtu"] = "65520\n"
		t.netdev(device, "1"+device[len(device)-1:], 65520)
	}
}

func (t tree) netdev(name, index string, mtu int) {
	dir := "sys/class/net/" + name + "/"
	t[dir+"ifindex"], t[dir+"flags"], t[dir+"carrier"], t[dir+"mtu"] = index+"\n", "0x1003\n", "1\n", fmt.Sprintf("%d\n", mtu)
	t[dir+"statistics/rx_dropped"] = "5\n"
}

func (t tree) without(prefix string) tree {
	for k := range t {
		if strings.HasPrefix(k, prefix) {
			delete(t, k)
		}
	}
	return t
}

func (t tree) fs() fs.FS {
	out := fstest.MapFS{"run/tbnet2/daemon.sock": {Mode: 0o666 | fs.ModeSocket}}
	for k, v := range t {
		out[k] = &fstest.MapFile{Data: []byte(v), Mode: 0o644}
	}
	return out
}

// healthy is a status without any fault.
func healthy() ctl.Status {
	s := ctlfake.Sample()
	s.Rails, s.Peers[0].Rails = s.Rails[:2], []string{"tbr0", "tbr1"}
	s.Drops, s.Warnings = nil, nil
	return s
}

func env(t tree, s *ctl.Status, err error) *Env {
	return &Env{FS: t.fs(), Socket: "/run/tbnet2/daemon.sock", Config: "etc/tbnet2/config",
		Status: func(context.Context) (*ctl.Status, error) { return s, err },
		Features: func(string) (map[string]bool, error) {
			return map[string]bool{"tx": true, "sg": true, "tso": true}, nil
		},
		Pause: func(context.Context, time.Duration) {},
		Now:   func() time.Time { return time.Date(2026, 1, 2, 4, 0, 0, 0, time.UTC) }}
}

// diagnose runs all checks on a machine that change has spoiled.
func diagnose(t *testing.T, change func(tree, *ctl.Status)) *Report {
	t.Helper()
	m, s := machineTree(), healthy()
	change(m, &s)
	return Run(t.Context(), env(m, &s, nil), Checks())
}

func TestHealthyMachine(t *testing.T) {
	r := diagnose(t, func(tree, *ctl.Status) {})
	for _, f := range r.Findings {
		if f.Level != OK || f.Cause == "" {
			t.Errorf("%s: %v %s", f.Check, f.Level, f.Cause)
		}
	}
	if r.Level != OK || r.First != nil || len(r.Findings) != len(Checks()) || !r.Simulated {
		t.Errorf("got %+v", r)
	}
}

// TestU5_FirstMissingLayer takes away one layer after the other; the finding
// that is named first must be that layer, whatever fails above it.
func TestU5_FirstMissingLayer(t *testing.T) {
	gone := ctl.Errorf(ctl.CodeNoDaemon, "no daemon at /run/tbnet2/daemon.sock")
	cases := []struct {
		name   string
		change func(tree)
		layer  Layer
		says   string
	}{
		{"no modules", func(m tree) { m.without("sys/module/thunderbolt").without("sys/bus") }, Kernel, "thunderbolt, thunderbolt_net"},
		{"no controller", func(m tree) { m.without("sys/bus"); m["sys/bus/thunderbolt/devices/x"] = "" }, Controller, "no Thunderbolt or USB4 controller"},
		{"no cable", func(m tree) { m.without("sys/bus/thunderbolt/devices/0-1").without("sys/bus/thunderbolt/devices/0-3") }, Port, "no host at the end of any cable"},
		{"no service", func(m tree) { m.without("sys/bus/thunderbolt/devices/0-1/0-1.0") }, Service, "0-1 does not offer"},
		{"no network device", func(m tree) { m.without("sys/bus/thunderbolt/devices/0-3/0-3.0/net") }, Service, "no network device on 0-3"},
		{"no daemon", func(m tree) {}, Daemon, "no daemon at"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m := machineTree()
			c.change(m)
			r := Run(t.Context(), env(m, nil, gone), Checks())
			if r.Level != Fail || r.First == nil || r.First.Layer != c.layer || !strings.Contains(r.First.Cause, c.says) || r.First.Fix == "" {
				t.Fatalf("got level %v, first %+v; want FAIL in %s with %q", r.Level, r.First, c.layer, c.says)
			}
		})
	}
}

func TestFaults(t *testing.T) {
	cases := []struct {
		name   string
		change func(tree, *ctl.Status)
		check  string
		level  Level
		says   string
	}{
		{"old kernel", func(m tree, _ *ctl.Status) { m["proc/sys/kernel/osrelease"] = "5.4.0" }, "kernel version", Warn, "5.4.0 is older"},
		{"one lane", func(m tree, _ *ctl.Status) { m.cable("0-1", "thunderbolt0", 20, 1) }, "link speed", Warn, "0-1 runs at 1 x 20 = 20 Gb/s"},
		{"10 Gb/s", func(m tree, _ *ctl.Status) { m.cable("0-3", "thunderbolt1", 10, 1) }, "link speed", Warn, "0-3 runs at 1 x 10 = 10 Gb/s"},
		{"10 Gb/s lanes", func(m tree, _ *ctl.Status) { m.cable("0-3", "thunderbolt1", 10, 2) }, "link speed", Warn, "= 20 Gb/s"},
		{"daemon of another version", func(_ tree, s *ctl.Status) { s.Host.Version = "0.0.9" }, "versions", Warn, "0.0.9"},
		{"set down", func(m tree, _ *ctl.Status) { m["sys/class/net/thunderbolt1/flags"] = "0x1002" }, "rail devices", Warn, "set down: thunderbolt1"},
		{"device gone", func(m tree, _ *ctl.Status) { m.without("sys/class/net/thunderbolt1") }, "rail devices", Warn, "not there: thunderbolt1"},
		{"NetworkManager", func(m tree, _ *ctl.Status) { m["run/NetworkManager/devices/10"] = "[device]\nmanaged=true\n" }, "rail managers", Warn, "thunderbolt0 by NetworkManager"},
		{"networkd", func(m tree, _ *ctl.Status) {
			m["run/systemd/netif/links/11"] = "# x\nADMIN_STATE=configured\n"
		}, "rail managers", Warn, "thunderbolt1 by systemd-networkd"},
		{"rail down", func(_ tree, s *ctl.Status) { s.Rails[1].State, s.Rails[1].Reason = ctl.RailDown, "no carrier" }, "rail states", Warn, "tbr1 is down (no carrier)"},
		{"no rail up", func(_ tree, s *ctl.Status) {
			s.Rails[0].State, s.Rails[1].State = ctl.RailDown, ctl.RailProbing
		}, "rail states", Fail, "no rail is up"},
		{"flap", func(_ tree, s *ctl.Status) {
			s.Rails[0].Counters.Flaps, s.Rails[0].Since = 3, time.Date(2026, 1, 2, 3, 59, 0, 0, time.UTC)
		}, "rail stability", Warn, "tbr0 changed 1m0s ago (left up 3 times in all)"},
		{"no peer", func(_ tree, s *ctl.Status) { s.Peers = nil }, "peers", Fail, "no tbnet2 host answers"},
		{"peer lost", func(_ tree, s *ctl.Status) { s.Peers[0].State, s.Peers[0].Reason = ctl.PeerLost, "all rails down" }, "peers", Fail, "node2 is lost (all rails down)"},
		{"mismatch", func(_ tree, s *ctl.Status) { s.Peers[0].State, s.Peers[0].Reason = ctl.PeerMismatch, "versions 2 to 3" }, "versions", Fail, "node2: versions 2 to 3"},
		{"uuid conflict", func(_ tree, s *ctl.Status) {
			s.Warnings = []ctl.Warning{{Code: "uuid_conflict", Message: "node1 and clone have one UUID"}}
		}, "host UUIDs", Fail, "node1 and clone"},
		{"no carrier", func(_ tree, s *ctl.Status) { s.Bonds[0].Carrier = false }, "bond", Fail, "tbbond0 has no carrier"},
		{"bond down", func(m tree, _ *ctl.Status) { m["sys/class/net/tbbond0/flags"] = "0x1002" }, "bond", Fail, "tbbond0 is not up"},
		{"powersave", func(m tree, _ *ctl.Status) { m["sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"] = "powersave" }, "CPU governor", Warn, "1 of 1"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := diagnose(t, c.change)
			found(t, r, c.check, c.level, c.says)
			if r.Level < c.level {
				t.Errorf("the report's level is %v, below %v", r.Level, c.level)
			}
		})
	}
}

func found(t *testing.T, r *Report, check string, level Level, says string) {
	t.Helper()
	for _, f := range r.Findings {
		if f.Check != check {
			continue
		}
		if f.Level != level || !strings.Contains(f.Cause, says) || f.Fix == "" {
			t.Errorf("%s: got %v %q, fix %q; want %v with %q and a fix", check, f.Level, f.Cause, f.Fix, level, says)
		}
		return
	}
	t.Errorf("no check %q", check)
}

// TestU43_UnequalMTU has two ends of different MTU, which costs three quarters
// of the speed and which nothing else shows.
func TestU43_UnequalMTU(t *testing.T) {
	r := diagnose(t, func(_ tree, s *ctl.Status) { s.Rails[1].PeerMTU = 1500 })
	found(t, r, "rail MTU", Warn, "tbr1 (thunderbolt1) has 65520 here and 1500 at node2")
	r = diagnose(t, func(_ tree, s *ctl.Status) {
		for i := range s.Rails {
			s.Rails[i].MTU, s.Rails[i].PeerMTU = 1500, 1500
		}
	})
	found(t, r, "rail MTU", Warn, "thunderbolt0 has only 1500")
}

// TestEthernetRails has no Thunderbolt at all and Ethernet devices as rails:
// nothing to complain about.
func TestEthernetRails(t *testing.T) {
	m := machineTree().without("sys/bus").without("sys/module/thunderbolt").without("sys/class/net/thunderbolt")
	s := healthy()
	for i := range s.Rails {
		s.Rails[i].Device = fmt.Sprintf("veth%d", i)
		m.netdev(s.Rails[i].Device, fmt.Sprint(i+2), 9000)
	}
	r := Run(t.Context(), env(m, &s, nil), Checks())
	if r.Level != OK {
		t.Errorf("got %v: %+v", r.Level, r.First)
	}
}

// TestDrops has drops of long ago, which are none to complain of, and drops
// that go on.
func TestDrops(t *testing.T) {
	s := healthy()
	s.Drops = []ctl.Drop{{Reason: "no_peer", Count: 9}, {Reason: "bad_crc", Count: 2}}
	e := env(machineTree(), &s, nil)
	r := Run(t.Context(), e, Checks())
	if r.Level != OK {
		t.Errorf("old drops: got %v, %+v", r.Level, r.First)
	}
	e.Status = func(context.Context) (*ctl.Status, error) {
		s := s
		s.Drops = []ctl.Drop{{Reason: "no_peer", Count: 99}, {Reason: "bad_crc", Count: 7}, {Reason: "short", Count: 1}}
		return &s, nil
	}
	e.status = &s
	if got := drops(t.Context(), e); got.Level != Warn || got.Cause != "dropped in the last 1s: bad_crc 5, short 1" {
		t.Errorf("got %+v", got)
	}
}

func TestOffloads(t *testing.T) {
	s := healthy()
	e := env(machineTree(), &s, nil)
	e.Features = func(string) (map[string]bool, error) { return map[string]bool{"tx": true, "sg": true}, nil }
	found(t, Run(t.Context(), e, Checks()), "bond offloads", Warn, "tbbond0 tso")
}
