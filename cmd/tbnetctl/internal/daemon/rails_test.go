// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tbnet2/tbnet2/cmd/tbnetctl/internal/config"
	"github.com/tbnet2/tbnet2/fabric"
	"github.com/tbnet2/tbnet2/rail"
)

// fakeDevice only closes.
type fakeDevice struct {
	rail.Device
	closed *int
}

func (d fakeDevice) Close() error { *d.closed++; return nil }

// fakePlant is both the devices and the fabric of a keeper; it writes down
// what happens.
type fakePlant struct {
	index   map[string]int // of the devices that are there
	openErr error
	addErr  error
	log     []string
	closed  int
}

func (p *fakePlant) find(r config.Rail) (string, int) { return r.Device, p.index[r.Device] }

func (p *fakePlant) open(_ config.Rail, device string) (rail.Device, error) {
	if p.openErr != nil {
		return nil, p.openErr
	}
	return fakeDevice{closed: &p.closed}, nil
}

func (p *fakePlant) AddRail(_ rail.Device, o fabric.RailOptions) error {
	if p.addErr != nil {
		return p.addErr
	}
	p.log = append(p.log, fmt.Sprintf("+%s/%d", o.Name, o.Weight))
	return nil
}

func (p *fakePlant) RemoveRail(name string) error {
	p.log = append(p.log, "-"+name)
	return nil
}

// happened gives what was written down, and forgets it.
func (p *fakePlant) happened() string {
	out := strings.Join(p.log, " ")
	p.log = nil
	return out
}

func TestKeeper(t *testing.T) {
	p := &fakePlant{index: map[string]int{"a": 1, "b": 2}}
	k := newKeeper(p, p, quiet())
	ra, rb, rc := config.Rail{Name: "ra", Device: "a"}, config.Rail{Name: "rb", Device: "b"}, config.Rail{Name: "rc", Device: "c"}
	heavy := rb
	heavy.Weight = 9
	absent := func() string {
		var out []string
		for _, a := range k.absent() {
			out = append(out, a.config.Name+": "+a.reason)
		}
		slices.Sort(out)
		return strings.Join(out, ", ")
	}
	steps := []struct {
		name   string
		do     func()
		want   string
		absent string
	}{
		{"start without the third device", func() { k.set([]config.Rail{ra, rb, rc}) }, "+ra/0 +rb/0", "rc: no such device"},
		{"nothing new", k.check, "", "rc: no such device"},
		{"it comes", func() { p.index["c"] = 3; k.check() }, "+rc/0", ""},
		{"one goes", func() { delete(p.index, "a"); k.check() }, "-ra", "ra: no such device"},
		{"and is back before anybody has looked", func() { p.index["a"] = 7; k.check(); p.index["a"] = 8; k.check() }, "+ra/0 -ra +ra/0", ""},
		{"a device cannot be opened", func() { p.openErr = errors.New("busy"); p.index["b"] = 9; k.check() }, "-rb", "rb: busy"},
		{"then it can", func() { p.openErr = nil; k.check() }, "+rb/0", ""},
		{"another weight", func() { k.set([]config.Rail{ra, heavy, rc}) }, "-rb +rb/9", ""},
		{"one less", func() { k.set([]config.Rail{ra, heavy}) }, "-rc", ""},
		{"none", func() { k.set(nil) }, "-ra -rb", ""},
	}
	for _, s := range steps {
		s.do()
		got := p.happened()
		if s.name == "none" { // both orders are right
			words := strings.Fields(got)
			slices.Sort(words)
			got = strings.Join(words, " ")
		}
		if got != s.want || absent() != s.absent {
			t.Errorf("%s: got %q, absent %q; want %q, %q", s.name, got, absent(), s.want, s.absent)
		}
	}
	p.addErr = errors.New("too many rails")
	k.set([]config.Rail{ra})
	if p.closed != 1 || absent() != "ra: too many rails" {
		t.Errorf("refused by the fabric: %d devices closed, absent %q", p.closed, absent())
	}
}
