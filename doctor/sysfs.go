// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// bus is what sysfs tells of Thunderbolt.
type bus struct {
	Domains  []domain  `json:"domains"`
	XDomains []xdomain `json:"xdomains"`
	Routers  []router  `json:"routers"`
}

// domain is one controller.
type domain struct {
	Name     string `json:"name"` // "domain0"
	Security string `json:"security"`
	IOMMU    string `json:"iommu_dma_protection"`
}

// router is a switch: the host's own ("0-0") or a dock's.
type router struct {
	Name       string `json:"name"`
	Generation int    `json:"generation"`
}

// xdomain is another host at the end of a cable.
type xdomain struct {
	Name     string   `json:"name"` // domain-route, "0-1"
	Speed    int      `json:"gbps_per_lane"`
	Lanes    int      `json:"lanes"` // the lower of both directions
	Services []string `json:"services"`
	Devices  []string `json:"devices"` // network devices of its services
}

// gbps is what the link carries in one direction.
func (x *xdomain) gbps() int { return x.Speed * x.Lanes }

const busDir = "sys/bus/thunderbolt/devices"

var (
	domainName  = regexp.MustCompile(`^domain[0-9]+$`)
	deviceName  = regexp.MustCompile(`^[0-9]+-[0-9a-f]+$`)
	serviceName = regexp.MustCompile(`^[0-9]+-[0-9a-f]+\.[0-9]+$`)
)

// readBus reads the Thunderbolt bus; nil where the kernel has none.
func readBus(root fs.FS) *bus {
	entries, err := fs.ReadDir(root, busDir)
	if err != nil {
		return nil
	}
	b := &bus{Domains: []domain{}, XDomains: []xdomain{}, Routers: []router{}}
	for _, e := range entries {
		dir := path.Join(busDir, e.Name())
		switch {
		case domainName.MatchString(e.Name()):
			b.Domains = append(b.Domains, domain{e.Name(), read(root, dir, "security"), read(root, dir, "iommu_dma_protection")})
		case !deviceName.MatchString(e.Name()):
		case has(root, dir, "authorized") || has(root, dir, "generation"):
			b.Routers = append(b.Routers, router{e.Name(), number(read(root, dir, "generation"))})
		default:
			b.XDomains = append(b.XDomains, readXDomain(root, dir, e.Name()))
		}
	}
	return b
}

func readXDomain(root fs.FS, dir, name string) xdomain {
	x := xdomain{Name: name, Services: []string{}, Devices: []string{}}
	x.Speed = min(number(read(root, dir, "rx_speed")), number(read(root, dir, "tx_speed")))
	x.Lanes = min(number(read(root, dir, "rx_lanes")), number(read(root, dir, "tx_lanes")))
	entries, _ := fs.ReadDir(root, dir)
	for _, e := range entries {
		if !serviceName.MatchString(e.Name()) {
			continue
		}
		x.Services = append(x.Services, read(root, path.Join(dir, e.Name()), "key"))
		nets, _ := fs.ReadDir(root, path.Join(dir, e.Name(), "net"))
		for _, n := range nets {
			x.Devices = append(x.Devices, n.Name())
		}
	}
	return x
}

// netdev is what sysfs tells of a network device.
type netdev struct {
	Name    string
	Index   string
	MTU     int
	Up      bool // administratively
	Carrier bool
	Master  string
}

func readNetdev(root fs.FS, name string) (netdev, bool) {
	dir := path.Join("sys/class/net", name)
	if !has(root, dir, "ifindex") {
		return netdev{}, false
	}
	flags, _ := strconv.ParseUint(strings.TrimPrefix(read(root, dir, "flags"), "0x"), 16, 32)
	d := netdev{Name: name, Index: read(root, dir, "ifindex"), MTU: number(read(root, dir, "mtu")),
		Up: flags&1 != 0, Carrier: read(root, dir, "carrier") == "1"}
	if target, err := fs.ReadLink(root, path.Join(dir, "master")); err == nil {
		d.Master = path.Base(target)
	}
	return d, true
}

// railNetdevs names the devices that are, or by their name should be, rails:
// the daemon's, the configured and all thunderbolt*.
func (env *Env) railNetdevs() []string {
	names := slices.Clone(env.Devices)
	if env.status != nil {
		for i := range env.status.Rails {
			names = append(names, env.status.Rails[i].Device)
		}
	}
	entries, _ := fs.ReadDir(env.FS, "sys/class/net")
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "thunderbolt") {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(n string) bool { return n == "" })
}

// onEthernet tells whether rails are wanted on devices that need no
// Thunderbolt at all.
func (env *Env) onEthernet() bool {
	return slices.ContainsFunc(env.railNetdevs(), func(n string) bool { return !strings.HasPrefix(n, "thunderbolt") })
}

func has(root fs.FS, dir, name string) bool {
	_, err := fs.Stat(root, path.Join(dir, name))
	return err == nil
}

// read gives a file's text without the space around it; empty where it cannot
// be read.
func read(root fs.FS, dir, name string) string {
	data, _ := fs.ReadFile(root, path.Join(dir, name))
	return strings.TrimSpace(string(data))
}

// number reads the whole number that s begins with: 20 in "20.0 Gb/s".
func number(s string) int {
	end := strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(s)
	}
	n, _ := strconv.Atoi(s[:end])
	return n
}
