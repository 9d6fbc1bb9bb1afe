// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/tbnet2/tbnet2/ctl"
)

// flapRecent is how long ago a rail's change of state is still news.
const flapRecent = 10 * time.Minute

func railStability(_ context.Context, env *Env) Result {
	if env.status == nil {
		return needDaemon(env, "")
	}
	var flapped []string
	for i := range env.status.Rails {
		r := &env.status.Rails[i]
		ago := env.Now().Sub(r.Since)
		if r.Counters.Flaps > 0 && !r.Since.IsZero() && ago < flapRecent {
			flapped = append(flapped, fmt.Sprintf("%s changed %v ago (left up %d times in all)", r.Name, ago.Round(time.Second), r.Counters.Flaps))
		}
	}
	if len(flapped) == 0 {
		return ok(fmt.Sprintf("no rail changed in the last %v", flapRecent))
	}
	return warn(strings.Join(flapped, "; "), "check plug and cable; `tbnetctl events --watch` shows the next time with its reason")
}

func peersVisible(_ context.Context, env *Env) Result {
	if env.status == nil {
		return needDaemon(env, "")
	}
	var connected, other []string
	for i := range env.status.Peers {
		p := &env.status.Peers[i]
		name := p.Name
		if name == "" {
			name = p.UUID
		}
		if p.State == ctl.PeerConnected {
			connected = append(connected, fmt.Sprintf("%s over %s", name, strings.Join(p.Rails, ", ")))
		} else {
			other = append(other, fmt.Sprintf("%s is %s (%s)", name, p.State, orUnknown(p.Reason)))
		}
	}
	switch {
	case len(connected) == 0 && len(other) == 0:
		return fail("no tbnet2 host answers on any rail", "start tbnet2 on the other host: tbnetctl up")
	case len(connected) == 0:
		return fail(strings.Join(other, "; "), "check that the other host runs, and its `tbnetctl doctor`")
	case len(other) > 0:
		return warn(strings.Join(other, "; "), "check that the other host runs, and its `tbnetctl doctor`")
	}
	return ok(strings.Join(connected, ", "))
}

func versions(_ context.Context, env *Env) Result {
	if env.status == nil {
		return needDaemon(env, "")
	}
	var bad []string
	for i := range env.status.Peers {
		if p := &env.status.Peers[i]; p.State == ctl.PeerMismatch {
			bad = append(bad, p.Name+": "+orUnknown(p.Reason))
		}
	}
	bad = append(bad, warnings(env, "mismatch")...)
	if len(bad) > 0 {
		return fail("a host cannot be talked to: "+strings.Join(bad, "; "), "install the same version of tbnet2 on both hosts")
	}
	if v := env.status.Host.Version; v != ctl.Version {
		return warn(fmt.Sprintf("the daemon is %s, tbnetctl %s", v, ctl.Version), "restart the daemon: systemctl restart tbnet2")
	}
	return ok("all hosts speak the same protocol")
}

// warnings gives the messages of the daemon's warnings with that code.
func warnings(env *Env, code string) []string {
	var out []string
	for _, w := range env.status.Warnings {
		if w.Code == code {
			out = append(out, w.Message)
		}
	}
	return out
}

func uuidConflict(_ context.Context, env *Env) Result {
	if env.status == nil {
		return needDaemon(env, "")
	}
	if w := warnings(env, "uuid_conflict"); len(w) > 0 {
		return fail(strings.Join(w, "; "), "one of them is a copy of the other: `rm /etc/machine-id && systemd-machine-id-setup` there, or set uuid in its /etc/tbnet2/config")
	}
	return ok("no other host has this host's UUID")
}

func bonds(_ context.Context, env *Env) Result {
	if env.status == nil {
		return needDaemon(env, "")
	}
	if len(env.status.Bonds) == 0 {
		return warn("no bond: nothing uses the rails", "set outlet = tap in the configuration's [bond] section")
	}
	var parts []string
	for i := range env.status.Bonds {
		b := &env.status.Bonds[i]
		if !b.Carrier {
			return fail(b.Name+" has no carrier", "a bond has carrier as long as a peer is connected; see rails and peers")
		}
		if b.Kind == "tap" {
			if d, there := readNetdev(env.FS, b.Name); !there || !d.Up {
				return fail(b.Name+" is not up", "ip link set "+b.Name+" up")
			}
		}
		parts = append(parts, fmt.Sprintf("%s (%s, MTU %d)", b.Name, b.Kind, b.MTU))
	}
	return ok(strings.Join(parts, ", "))
}

func bondOffloads(_ context.Context, env *Env) Result {
	if env.status == nil {
		return needDaemon(env, "")
	}
	var off []string
	for i := range env.status.Bonds {
		b := &env.status.Bonds[i]
		if b.Kind == "userstack" || env.Features == nil {
			continue
		}
		features, err := env.Features(b.Name)
		if err != nil {
			return warn(fmt.Sprintf("cannot read the offloads of %s: %v", b.Name, err), "check with `ethtool -k "+b.Name+"`")
		}
		for _, f := range []string{"tx", "sg", "tso"} {
			if !features[f] {
				off = append(off, b.Name+" "+f)
			}
		}
	}
	if len(off) > 0 {
		return warn("switched off: "+strings.Join(off, ", "), "ethtool -K DEVICE tx on sg on tso on: without them each packet costs as much as 64 KiB")
	}
	return ok("checksums and segmentation are left to the transport")
}

// benign are drops that a healthy host has, too.
var benign = map[string]bool{"no_peer": true, "duplicate": true, "late": true, "unknown_index": true, "no_rail": true}

func drops(ctx context.Context, env *Env) Result {
	if env.status == nil {
		return needDaemon(env, "")
	}
	before := dropCounts(env.status)
	if len(before) == 0 {
		return ok("nothing was dropped")
	}
	env.Pause(ctx, dropWatch)
	now, err := env.Status(ctx)
	if err != nil {
		return warn(fmt.Sprintf("the daemon did not answer a second time: %v", err), "see the daemon's log")
	}
	var growing, still []string
	after := dropCounts(now)
	for _, reason := range slices.Sorted(maps.Keys(after)) {
		if more := after[reason] - before[reason]; more > 0 {
			growing = append(growing, fmt.Sprintf("%s %d", reason, more))
		} else {
			still = append(still, fmt.Sprintf("%s %d", reason, after[reason]))
		}
	}
	if len(growing) > 0 {
		return warn(fmt.Sprintf("dropped in the last %v: %s", dropWatch, strings.Join(growing, ", ")), "`tbnetctl stats --watch` shows on which rail; crc and short point to a cable or device, window and full queues to a slow receiver")
	}
	return ok(fmt.Sprintf("nothing in the last %v; since the start %s", dropWatch, strings.Join(still, ", ")))
}

// dropWatch is how long drops are watched: what was dropped when a peer came
// or a cable was pulled is history, not a fault.
const dropWatch = time.Second

func dropCounts(s *ctl.Status) map[string]uint64 {
	out := map[string]uint64{}
	for _, d := range s.Drops {
		if d.Count > 0 && !benign[d.Reason] {
			out[d.Reason] = d.Count
		}
	}
	return out
}

// cpuGovernor warns where the clock is pinned to the lowest. With intel_pstate
// and amd-pstate "powersave" is the usual, adaptive mode.
func cpuGovernor(_ context.Context, env *Env) Result {
	const dir = "sys/devices/system/cpu"
	matches, _ := fs.Glob(env.FS, dir+"/cpu[0-9]*/cpufreq/scaling_governor")
	slow := 0
	for _, m := range matches {
		driver := read(env.FS, path.Dir(m), "scaling_driver")
		adaptive := strings.HasPrefix(driver, "intel_pstate") || strings.HasPrefix(driver, "amd-pstate")
		if read(env.FS, path.Dir(m), "scaling_governor") == "powersave" && !adaptive {
			slow++
		}
	}
	if slow > 0 {
		return warn(fmt.Sprintf("%d of %d CPUs stay at their lowest clock", slow, len(matches)), "cpupower frequency-set -g schedutil (or performance)")
	}
	return ok("no CPU is held at its lowest clock")
}
