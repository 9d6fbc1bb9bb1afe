// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// kernelMin is the oldest kernel this is meant for: the oldest long-term one
// whose thunderbolt-net takes an MTU of 65520 and bonds lanes between hosts.
var kernelMin = [2]int{5, 15}

func kernelVersion(_ context.Context, env *Env) Result {
	release := read(env.FS, "proc/sys/kernel", "osrelease")
	var major, minor int
	if _, err := fmt.Sscanf(release, "%d.%d", &major, &minor); err != nil {
		return warn(fmt.Sprintf("kernel release %q makes no sense", release), "check that /proc is mounted")
	}
	if major < kernelMin[0] || major == kernelMin[0] && minor < kernelMin[1] {
		return warn(fmt.Sprintf("kernel %s is older than %d.%d", release, kernelMin[0], kernelMin[1]), "install a newer kernel: lane bonding between hosts is missing in this one")
	}
	return ok("kernel " + release)
}

func kernelModules(_ context.Context, env *Env) Result {
	var missing []string
	if !has(env.FS, "sys/module", "tun") && !has(env.FS, "dev", "net/tun") {
		missing = append(missing, "tun")
	}
	if !env.onEthernet() {
		for _, m := range []string{"thunderbolt", "thunderbolt_net"} {
			if !has(env.FS, "sys/module", m) {
				missing = append(missing, m)
			}
		}
	}
	if len(missing) == 0 {
		return ok("the modules that are needed are there")
	}
	return fail("not loaded: "+strings.Join(missing, ", "), "modprobe -a "+strings.Join(missing, " "))
}

func controllers(_ context.Context, env *Env) Result {
	switch {
	case env.bus != nil && len(env.bus.Domains) > 0:
		var parts []string
		for _, d := range env.bus.Domains {
			parts = append(parts, fmt.Sprintf("%s (security %s)", d.Name, d.Security))
		}
		return ok(fmt.Sprintf("%d: %s", len(parts), strings.Join(parts, ", ")))
	case env.onEthernet():
		return ok("no Thunderbolt controller; the rails are Ethernet devices")
	case env.bus == nil:
		return fail("the kernel has no Thunderbolt bus", "modprobe thunderbolt; if that fails the kernel was built without CONFIG_USB4")
	}
	return fail("no Thunderbolt or USB4 controller is visible", "enable Thunderbolt in the firmware setup; `lspci | grep -i -e thunderbolt -e usb4` shows whether there is one")
}

func ports(_ context.Context, env *Env) Result {
	if env.bus == nil || len(env.bus.Domains) == 0 {
		return skipThunderbolt(env)
	}
	if len(env.bus.XDomains) > 0 {
		var parts []string
		for i := range env.bus.XDomains {
			x := &env.bus.XDomains[i]
			parts = append(parts, fmt.Sprintf("%s %d x %d Gb/s", x.Name, x.Lanes, x.Speed))
		}
		return ok(fmt.Sprintf("%d with a host at the other end: %s", len(parts), strings.Join(parts, ", ")))
	}
	fix := "plug in a Thunderbolt cable to another host that is running (a charging cable will not do); if one is plugged in, unplug it for 5 s"
	if read(env.FS, "sys/module/thunderbolt/parameters", "host_reset") == "Y" {
		fix += "; if that helps only until the next reboot, boot with thunderbolt.host_reset=0"
	}
	if env.onEthernet() {
		return warn("no host at the end of any Thunderbolt cable; only Ethernet devices are used", fix)
	}
	return fail("no host at the end of any cable", fix)
}

// skipThunderbolt is the answer of checks that have nothing to look at; the
// controller check has said so where that is a fault.
func skipThunderbolt(env *Env) Result {
	if env.onEthernet() {
		return ok("not needed: the rails are Ethernet devices")
	}
	return fail("nothing to look at without a controller", "see the controllers")
}

// slowLink is the rate up to which a link is worth a warning, in Gb/s: every
// Thunderbolt 3 or USB4 port can do 40.
const slowLink = 20

func linkSpeed(_ context.Context, env *Env) Result {
	if env.bus == nil || len(env.bus.XDomains) == 0 {
		return ok("no cable to look at")
	}
	var slow []string
	for i := range env.bus.XDomains {
		if x := &env.bus.XDomains[i]; x.gbps() <= slowLink {
			slow = append(slow, fmt.Sprintf("%s runs at %d x %d = %d Gb/s", x.Name, x.Lanes, x.Speed, x.gbps()))
		}
	}
	if len(slow) == 0 {
		return ok("every link is faster than 20 Gb/s")
	}
	return warn(strings.Join(slow, "; "), "use a cable of 40 Gb/s, at most 0.8 m if passive, and plug it in anew: speed and width are decided at that moment")
}

func netService(_ context.Context, env *Env) Result {
	if env.bus == nil || len(env.bus.XDomains) == 0 {
		return ok("no cable to look at")
	}
	var without, unoffered []string
	for i := range env.bus.XDomains {
		x := &env.bus.XDomains[i]
		switch {
		case len(x.Devices) > 0:
		case slices.Contains(x.Services, "network"):
			without = append(without, x.Name)
		default:
			unoffered = append(unoffered, x.Name)
		}
	}
	switch {
	case len(without) > 0:
		return fail("no network device on "+strings.Join(without, ", ")+" though the other host offers the service", "modprobe thunderbolt-net")
	case len(unoffered) > 0:
		return fail("the host at "+strings.Join(unoffered, ", ")+" does not offer the network service", "load thunderbolt-net on the other host")
	}
	return ok("every cable has a network device")
}
