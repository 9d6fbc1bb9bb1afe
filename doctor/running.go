// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"fmt"
	"io/fs"
	"strings"

	"github.com/tbnet2/tbnet2/ctl"
)

func daemonRunning(_ context.Context, env *Env) Result {
	switch ctl.CodeOf(env.statusErr) {
	case ctl.CodeVersion:
		return fail(env.statusErr.Error(), "restart the daemon: systemctl restart tbnet2")
	case ctl.CodeNoDaemon:
		fix := "tbnetctl up"
		if env.Config != "" && has(env.FS, ".", env.Config) {
			fix = "systemctl start tbnet2 (or `tbnetctl up`); `journalctl -u tbnet2` tells why it stopped"
		}
		return fail(env.statusErr.Error(), fix)
	}
	if env.statusErr != nil {
		return fail(env.statusErr.Error(), "see `journalctl -u tbnet2`")
	}
	h := env.status.Host
	return ok(fmt.Sprintf("%s %s answers for %s", h.Backend, h.Version, h.Name))
}

func controlSocket(_ context.Context, env *Env) Result {
	info, err := fs.Stat(env.FS, strings.TrimPrefix(env.Socket, "/"))
	switch {
	case err != nil:
		return needDaemon(env, "no socket at "+env.Socket)
	case info.Mode().Perm()&0o666 != 0o666:
		return warn(fmt.Sprintf("%s has mode %v: not every user can read the status", env.Socket, info.Mode().Perm()), "restart the daemon; who may change things is decided by user and group, not by the mode")
	}
	return ok("everyone may read; root and the group may change")
}

// needDaemon is the answer of checks that ask a daemon which is not there. The
// daemon check is the one that fails with the way to mend it.
func needDaemon(env *Env, cause string) Result {
	if env.status == nil {
		r := warn("cannot be told without the daemon", "see the daemon check")
		r.Untold = true
		return r
	}
	return warn(cause, "restart the daemon")
}

func railDevices(_ context.Context, env *Env) Result {
	names := env.railNetdevs()
	if len(names) == 0 {
		return fail("no device to use as a rail", "plug in a cable, or name Ethernet devices: tbnetctl up DEVICE...")
	}
	var missing, down, slaves []string
	for _, name := range names {
		d, there := readNetdev(env.FS, name)
		switch {
		case !there:
			missing = append(missing, name)
		case !d.Up:
			down = append(down, name)
		case d.Master != "":
			slaves = append(slaves, name+" in "+d.Master)
		}
	}
	switch {
	case len(missing) == len(names):
		return fail("not there: "+strings.Join(missing, ", "), "plug in the cable; a device comes when the other host is up")
	case len(missing) > 0:
		return warn("not there: "+strings.Join(missing, ", "), "plug in the cable; the daemon takes the device when it comes")
	case len(down) > 0:
		return warn("set down: "+strings.Join(down, ", "), "ip link set DEVICE up, or tbnetctl up")
	case len(slaves) > 0:
		return warn("part of another device: "+strings.Join(slaves, ", "), "ip link set DEVICE nomaster: rails are striped by tbnet2 alone")
	}
	return ok(strings.Join(names, ", "))
}

// railManagers looks for services that configure the rails' devices, and by
// that take them down or change their MTU under traffic.
func railManagers(_ context.Context, env *Env) Result {
	var managed []string
	for _, name := range env.railNetdevs() {
		d, there := readNetdev(env.FS, name)
		if !there {
			continue
		}
		if keyed(read(env.FS, "run/NetworkManager/devices", d.Index), "managed") == "true" {
			managed = append(managed, name+" by NetworkManager")
		}
		if s := keyed(read(env.FS, "run/systemd/netif/links", d.Index), "ADMIN_STATE"); s != "" && s != "unmanaged" {
			managed = append(managed, name+" by systemd-networkd")
		}
	}
	if len(managed) == 0 {
		return ok("no other service manages the rails")
	}
	return warn("managed: "+strings.Join(managed, ", "), "install the shipped rules: `make install`, then `nmcli general reload` or `networkctl reload`; see packaging/")
}

// keyed finds KEY=value in the lines of text.
func keyed(text, key string) string {
	for line := range strings.Lines(text) {
		if k, v, found := strings.Cut(strings.TrimSpace(line), "="); found && k == key {
			return v
		}
	}
	return ""
}

// smallMTU is what a device has that nobody has raised, in bytes.
const smallMTU = 1500

func railMTU(_ context.Context, env *Env) Result {
	if env.status == nil {
		return needDaemon(env, "")
	}
	var unequal, small []string
	for i := range env.status.Rails {
		r := &env.status.Rails[i]
		if r.PeerMTU != 0 && r.PeerMTU != r.MTU {
			unequal = append(unequal, fmt.Sprintf("%s (%s) has %d here and %d at %s", r.Name, r.Device, r.MTU, r.PeerMTU, r.Peer))
		}
		if strings.HasPrefix(r.Device, "thunderbolt") && r.MTU <= smallMTU {
			small = append(small, fmt.Sprintf("%s has only %d", r.Device, r.MTU))
		}
	}
	switch {
	case len(unequal) > 0:
		return warn("the two ends differ: "+strings.Join(unequal, "; "), "set the larger one on both: run `tbnetctl up` on the end that is smaller; the smaller is what is used")
	case len(small) > 0:
		return warn(strings.Join(small, "; "), "tbnetctl up raises it to the device's maximum")
	}
	return ok("equal at both ends")
}

func railStates(_ context.Context, env *Env) Result {
	if env.status == nil {
		return needDaemon(env, "")
	}
	up, bad := 0, []string{}
	for i := range env.status.Rails {
		r := &env.status.Rails[i]
		if r.State == ctl.RailUp {
			up++
			continue
		}
		if r.Enabled {
			bad = append(bad, fmt.Sprintf("%s is %s (%s)", r.Name, r.State, orUnknown(r.Reason)))
		}
	}
	all := len(env.status.Rails)
	switch {
	case all == 0:
		return fail("the daemon has no rail", "tbnetctl up DEVICE..., or a [rail NAME] section in the configuration")
	case up == 0:
		return fail("no rail is up: "+strings.Join(bad, "; "), "check the cables and that tbnet2 runs on the other host")
	case len(bad) > 0:
		return warn(strings.Join(bad, "; "), "check that cable; the traffic goes over the other rails")
	}
	return ok(fmt.Sprintf("%d of %d up", up, all))
}

func orUnknown(reason string) string {
	if reason == "" {
		return "no reason known"
	}
	return reason
}
