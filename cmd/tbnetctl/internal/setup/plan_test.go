// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tbnet2/tbnet2/cmd/tbnetctl/internal/config"
)

// machine has three cables, whose devices' names race at boot, and an
// Ethernet device.
func machine() []Link {
	return []Link{
		{Name: "lo", Loop: true, Up: true, MTU: 65536},
		{Name: "eth0", Up: true, MTU: 1500, MaxMTU: 9194},
		{Name: "thunderbolt0", Path: "1-1", MTU: 1500, MaxMTU: 65522},
		{Name: "thunderbolt1", Path: "0-3", MTU: 1500, MaxMTU: 65522},
		{Name: "thunderbolt2", Path: "0-1", Up: true, MTU: 65522, MaxMTU: 65522},
		{Name: "veth0", Kind: "veth", MTU: 1500, MaxMTU: 65535},
	}
}

func rails(p Plan) string {
	var out []string
	for _, r := range p.Config.Rails {
		out = append(out, r.Name+"@"+r.Device+r.Path)
	}
	return strings.Join(out, " ")
}

func TestPlanNamesByDomainAndRoute(t *testing.T) {
	p, err := MakePlan(config.Default(), machine(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := rails(p), "tbr0@0-1 tbr1@0-3 tbr2@1-1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	want := []Change{{Device: "thunderbolt1", MTUBefore: 1500, MTU: 65522}, {Device: "thunderbolt0", MTUBefore: 1500, MTU: 65522}}
	if d := cmp.Diff(want, p.Changes); d != "" {
		t.Errorf("changes (-want +got):\n%s", d)
	}
}

// TestPlanKeepsNames plugs in a cable that sorts before the others: what has a
// name keeps it, with its settings.
func TestPlanKeepsNames(t *testing.T) {
	links := machine()
	first, err := MakePlan(config.Default(), links[:4], Options{}) // without 0-1
	if err != nil {
		t.Fatal(err)
	}
	first.Config.Rails[0].Weight, first.Config.Rails[0].MTU = 7, 9000
	links[3].Name, links[2].Name = "thunderbolt9", "thunderbolt8"
	second, err := MakePlan(first.Config, links, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := rails(second), "tbr0@0-3 tbr1@1-1 tbr2@0-1"; got != want || second.Config.Rails[0].Weight != 7 || second.Changes[0].MTU != 9000 {
		t.Errorf("got %s (weight %d), want %s (weight 7)", got, second.Config.Rails[0].Weight, want)
	}
	third, err := MakePlan(second.Config, links[4:5], Options{})
	if err != nil || rails(third) != rails(second) {
		t.Errorf("with two cables unplugged: got %s, %v", rails(third), err)
	}
}

func TestPlanOptions(t *testing.T) {
	cases := []struct {
		name    string
		options Options
		rails   string
		changes string
		says    string
	}{
		{"veth goes to its maximum", Options{Devices: []string{"veth0"}}, "veth0@veth0", "veth0 1500>65535 up", ""},
		{"Ethernet keeps its MTU", Options{Devices: []string{"eth0"}}, "eth0@eth0", "", ""},
		{"unless told otherwise", Options{Devices: []string{"eth0"}, MTU: MaxMTU}, "eth0@eth0", "eth0 1500>9194", ""},
		{"a number", Options{Devices: []string{"veth0", "eth0"}, MTU: 9000}, "veth0@veth0 eth0@eth0", "veth0 1500>9000 up,eth0 1500>9000", ""},
		{"keep", Options{Devices: []string{"veth0"}, MTU: KeepMTU}, "veth0@veth0", "veth0 1500>1500 up", ""},
		{"a cable by its device", Options{Devices: []string{"thunderbolt1"}}, "tbr0@0-3", "thunderbolt1 1500>65522 up", ""},
		{"unknown", Options{Devices: []string{"eth9"}}, "", "", `no network device "eth9"`},
		{"twice", Options{Devices: []string{"eth0", "eth0"}}, "", "", "named twice"},
		{"loopback", Options{Devices: []string{"lo"}}, "", "", "leads nowhere"},
		{"the bond itself", Options{Devices: []string{"eth0"}, Bond: func(b *config.Bond) { b.Name = "eth0" }}, "", "", "bond eth0 itself"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p, err := MakePlan(config.Default(), machine(), c.options)
			if c.says != "" {
				if err == nil || !strings.Contains(err.Error(), c.says) {
					t.Fatalf("got %v, want %q", err, c.says)
				}
				return
			}
			var changes []string
			for _, ch := range p.Changes {
				s := fmt.Sprintf("%s %d>%d", ch.Device, ch.MTUBefore, ch.MTU)
				if !ch.UpBefore {
					s += " up"
				}
				changes = append(changes, s)
			}
			if err != nil || rails(p) != c.rails || strings.Join(changes, ",") != c.changes {
				t.Fatalf("got %q, %q, %v; want %q, %q", rails(p), strings.Join(changes, ","), err, c.rails, c.changes)
			}
		})
	}
	if _, err := MakePlan(config.Default(), machine()[:2], Options{}); err == nil || !strings.Contains(err.Error(), "modprobe thunderbolt-net") {
		t.Errorf("no cable: got %v", err)
	}
}

func TestNamedDevicesAreTheWholeList(t *testing.T) {
	old, err := MakePlan(config.Default(), machine(), Options{Devices: []string{"eth0", "veth0"}})
	if err != nil {
		t.Fatal(err)
	}
	now, err := MakePlan(old.Config, machine(), Options{Devices: []string{"veth0"}})
	if err != nil || rails(now) != "veth0@veth0" || rails(old) != "eth0@eth0 veth0@veth0" {
		t.Errorf("got %s, %v; before %s", rails(now), err, rails(old))
	}
}

// fakeLinks fails at one device.
type fakeLinks struct {
	links []Link
	fail  string
}

func (f *fakeLinks) List() ([]Link, error) { return slices.Clone(f.links), nil }

func (f *fakeLinks) change(name string, do func(*Link)) error {
	if name == f.fail {
		return errors.New("no such luck with " + name)
	}
	for i := range f.links {
		if f.links[i].Name == name {
			do(&f.links[i])
			return nil
		}
	}
	return errors.New("no " + name)
}

func (f *fakeLinks) SetMTU(name string, mtu int) error {
	return f.change(name, func(l *Link) { l.MTU = mtu })
}
func (f *fakeLinks) SetUp(name string, up bool) error {
	return f.change(name, func(l *Link) { l.Up = up })
}
func (f *fakeLinks) Delete(name string) error { return f.change(name, func(*Link) {}) }

func TestApplyAndUndo(t *testing.T) {
	p, err := MakePlan(config.Default(), machine(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	links := &fakeLinks{links: machine()}
	undo, err := p.Apply(links)
	if err != nil {
		t.Fatal(err)
	}
	if l := links.links[2]; !l.Up || l.MTU != 65522 {
		t.Errorf("after Apply: %+v", l)
	}
	if err := undo(); err != nil || !cmp.Equal(links.links, machine()) {
		t.Errorf("after undo: %v\n%s", err, cmp.Diff(machine(), links.links))
	}
	failing := &fakeLinks{links: machine(), fail: "thunderbolt0"} // the last
	if _, err := p.Apply(failing); err == nil || !cmp.Equal(failing.links, machine()) {
		t.Errorf("half-applied: %v\n%s", err, cmp.Diff(machine(), failing.links))
	}
}

func TestPathOf(t *testing.T) {
	for target, want := range map[string]string{
		"../../../0-1.0": "0-1", "../../../1-30a.2": "1-30a", "../../../0000:00:1f.6": "", "": "", "../../0-1": "",
	} {
		if got := pathOf(func(string) string { return target }, "x"); got != want {
			t.Errorf("%s: got %q, want %q", target, got, want)
		}
	}
	if !slices.IsSortedFunc([]string{"0-1", "0-3", "0-103", "2-1", "10-1"}, comparePaths) {
		t.Error("paths do not sort by value")
	}
}

func TestReady(t *testing.T) {
	links := &fakeLinks{links: machine()}
	if err := Ready(links, config.Rail{MTU: config.MTUMax}, "thunderbolt1"); err != nil || links.links[3].MTU != 65522 || !links.links[3].Up {
		t.Errorf("got %v, %+v", err, links.links[3])
	}
	links.fail = "thunderbolt1" // any further change would be an error
	if err := Ready(links, config.Rail{MTU: config.MTUMax}, "thunderbolt1"); err != nil {
		t.Errorf("a device that is ready: %v", err)
	}
	if err := Ready(links, config.Rail{}, "thunderbolt9"); err == nil {
		t.Error("a device that is not there is ready")
	}
}
