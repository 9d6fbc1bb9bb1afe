// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tbnet2/tbnet2/cmd/tbnetctl/internal/config"
)

// KeepMTU and MaxMTU are values of Options.MTU that are no number.
const (
	AutoMTU = 0             // as configured; of new rails the maximum for cables and veth, the present one for others
	MaxMTU  = config.MTUMax // the maximum for all
	KeepMTU = -2            // the present one for all
)

// Options say what the user wants.
type Options struct {
	Devices []string // to use as rails; empty: every Thunderbolt device
	MTU     int      // bytes, or one of the values above
	Bond    func(*config.Bond)
}

// Change is a device's new state.
type Change struct {
	Device    string `json:"device"`
	MTUBefore int    `json:"mtu_before"`
	MTU       int    `json:"mtu"`
	UpBefore  bool   `json:"up_before"`
}

// Plan is what is to be done.
type Plan struct {
	Config  config.Config
	Changes []Change // only what differs from the present state
}

// mtuFrameMax is the largest MTU that helps: a frame's length has 16 bits.
const mtuFrameMax = 65535

// MakePlan decides which devices become rails, under which names. Rails that
// old has keep their names and settings, so that names stay the same whatever
// is plugged in later.
func MakePlan(old config.Config, links []Link, o Options) (Plan, error) {
	chosen, err := choose(links, o.Devices)
	if err != nil {
		return Plan{}, err
	}
	p := Plan{Config: old.Clone()}
	if o.Bond != nil {
		o.Bond(&p.Config.Bond)
	}
	if len(o.Devices) > 0 {
		// The named devices are the whole list.
		p.Config.Rails = slices.DeleteFunc(p.Config.Rails, func(r config.Rail) bool { return !slices.ContainsFunc(chosen, on(r)) })
	}
	for _, l := range chosen {
		i := slices.IndexFunc(p.Config.Rails, func(r config.Rail) bool { return on(r)(l) })
		if i < 0 {
			i = len(p.Config.Rails)
			p.Config.Rails = append(p.Config.Rails, newRail(p.Config.Rails, l))
		}
		r := &p.Config.Rails[i]
		switch o.MTU {
		case AutoMTU:
		case KeepMTU:
			r.MTU = 0
		default:
			r.MTU = o.MTU
		}
		if c, changed := change(l, r.MTU); changed {
			p.Changes = append(p.Changes, c)
		}
	}
	return p, p.Config.Validate()
}

// choose gives the devices that become rails, cables in the order of domain
// and route.
func choose(links []Link, names []string) ([]Link, error) {
	var out []Link
	if len(names) == 0 {
		for _, l := range links {
			if l.Thunderbolt() {
				out = append(out, l)
			}
		}
		if len(out) == 0 {
			return nil, errors.New("no thunderbolt* network device: plug in a cable to a running host and `modprobe thunderbolt-net`, or name Ethernet devices")
		}
		slices.SortFunc(out, func(a, b Link) int { return comparePaths(a.Path, b.Path) })
		return out, nil
	}
	for _, name := range names {
		i := slices.IndexFunc(links, func(l Link) bool { return l.Name == name })
		switch {
		case i < 0:
			return nil, fmt.Errorf("no network device %q (see `ip link`)", name)
		case links[i].Loop:
			return nil, fmt.Errorf("%s is the loopback device and leads nowhere", name)
		case slices.ContainsFunc(out, func(l Link) bool { return l.Name == name }):
			return nil, fmt.Errorf("device %s is named twice", name)
		}
		out = append(out, links[i])
	}
	return out, nil
}

// on tells whether a link is the one that r is on.
func on(r config.Rail) func(Link) bool {
	return func(l Link) bool { return r.Device == l.Name || r.Path != "" && r.Path == l.Path }
}

// newRail names a rail: tbrN for cables, the lowest N that no other has, and
// the device's own name for others.
func newRail(others []config.Rail, l Link) config.Rail {
	r := config.Rail{Name: l.Name, Device: l.Name, CRC: !l.Thunderbolt()}
	if l.Thunderbolt() || l.Kind == "veth" {
		r.MTU = config.MTUMax
	}
	if l.Path == "" {
		return r
	}
	r.Device, r.Path = "", l.Path
	for n := 0; ; n++ {
		r.Name = fmt.Sprintf("tbr%d", n)
		if !slices.ContainsFunc(others, func(o config.Rail) bool { return o.Name == r.Name }) {
			return r
		}
	}
}

func change(l Link, want int) (Change, bool) {
	c := Change{Device: l.Name, MTUBefore: l.MTU, MTU: l.wanted(want), UpBefore: l.Up}
	return c, c.MTU != c.MTUBefore || !l.Up
}

// wanted gives the MTU that a rail's configured one means for the device.
func (l Link) wanted(mtu int) int {
	switch {
	case mtu > 0:
		return mtu
	case mtu == config.MTUMax:
		return max(min(l.MaxMTU, mtuFrameMax), l.MTU)
	}
	return l.MTU
}

// Ready sets a rail's device up with the MTU that r wants, as far as it is not
// so already. The daemon does this whenever a device comes.
func Ready(links Links, r config.Rail, device string) error {
	present, err := links.List()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(present, func(l Link) bool { return l.Name == device })
	if i < 0 {
		return fmt.Errorf("no network device %q", device)
	}
	if c, changed := change(present[i], r.MTU); changed {
		return apply(links, c)
	}
	return nil
}

// Steps tells in words what Apply does.
func (p Plan) Steps(configPath string) []string {
	var out []string
	for _, c := range p.Changes {
		if c.MTU != c.MTUBefore {
			out = append(out, fmt.Sprintf("set the MTU of %s from %d to %d", c.Device, c.MTUBefore, c.MTU))
		}
		if !c.UpBefore {
			out = append(out, "set "+c.Device+" up")
		}
	}
	var rails []string
	for _, r := range p.Config.Rails {
		rails = append(rails, fmt.Sprintf("%s on %s", r.Name, r.Device+r.Path))
	}
	return append(out, fmt.Sprintf("write %s: bond %s (%s) with %s", configPath, p.Config.Bond.Name, p.Config.Bond.Outlet, strings.Join(rails, ", ")))
}

// Apply makes the changes. Where one fails those before it are undone. undo
// undoes them all.
func (p Plan) Apply(links Links) (undo func() error, err error) {
	var done []Change
	undo = func() error { return Restore(links, done) }
	for _, c := range p.Changes {
		done = append(done, c)
		if err := apply(links, c); err != nil {
			return nil, errors.Join(err, undo())
		}
	}
	return undo, nil
}

func apply(links Links, c Change) error {
	if c.MTU != c.MTUBefore {
		if err := links.SetMTU(c.Device, c.MTU); err != nil {
			return err
		}
	}
	if !c.UpBefore {
		return links.SetUp(c.Device, true)
	}
	return nil
}

// Restore puts devices back into the state before the changes, as far as they
// are still there.
func Restore(links Links, changes []Change) error {
	present, err := links.List()
	if err != nil {
		return err
	}
	var errs []error
	for _, c := range slices.Backward(changes) {
		i := slices.IndexFunc(present, func(l Link) bool { return l.Name == c.Device })
		if i < 0 {
			continue
		}
		if present[i].MTU != c.MTUBefore {
			errs = append(errs, links.SetMTU(c.Device, c.MTUBefore))
		}
		if present[i].Up && !c.UpBefore {
			errs = append(errs, links.SetUp(c.Device, false))
		}
	}
	return errors.Join(errs...)
}
