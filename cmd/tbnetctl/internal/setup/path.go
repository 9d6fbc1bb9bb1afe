// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

const netClass = "/sys/class/net"

// serviceForm is the name of a Thunderbolt service's device: domain, route and
// number of the service.
var serviceForm = regexp.MustCompile(`^([0-9]+-[0-9a-f]+)\.[0-9]+$`)

// cablePath gives domain and route of the cable a device is on, or "".
func cablePath(device string) string {
	return pathOf(func(name string) string {
		target, err := os.Readlink(filepath.Join(netClass, name, "device"))
		if err != nil {
			return ""
		}
		return target
	}, device)
}

func pathOf(deviceLink func(string) string, device string) string {
	m := serviceForm.FindStringSubmatch(filepath.Base(deviceLink(device)))
	if m == nil {
		return ""
	}
	return m[1]
}

// DeviceAt finds the network device on the cable at a path such as "0-1" in
// the caller's network namespace; "" where there is none.
func DeviceAt(path string) string {
	matches, err := filepath.Glob(filepath.Join("/sys/bus/thunderbolt/devices", path, path+".*", "net", "*"))
	if err != nil || len(matches) == 0 {
		return ""
	}
	return filepath.Base(matches[0])
}

// comparePaths orders by domain, then route.
func comparePaths(a, b string) int {
	key := func(p string) (string, string) {
		domain, route, _ := strings.Cut(p, "-")
		return pad(domain), pad(route)
	}
	ad, ar := key(a)
	bd, br := key(b)
	if ad != bd {
		return strings.Compare(ad, bd)
	}
	return strings.Compare(ar, br)
}

// pad makes numbers of different length compare by value.
func pad(digits string) string { return strings.Repeat("0", max(0, 20-len(digits))) + digits }
