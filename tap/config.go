// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"crypto/sha256"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"

	"github.com/google/uuid"
	"golang.org/x/sys/unix"
)

// Limits of a device's MTU, in bytes.
const (
	DefaultMTU = 65520 // where Config.MTU is 0; as ThunderboltIP's largest
	MinMTU     = 1280  // the least that IPv6 needs
	MaxMTU     = 65521 // the kernel's limit for a TAP
)

// Config describes a device.
type Config struct {
	// Name of the netdev, at most 15 bytes.
	Name string
	// NetNS is a descriptor of the network namespace to make it in; 0 is the
	// calling thread's. It is not used after Open.
	NetNS int
	// Persist keeps the device, without carrier, when the process ends.
	Persist bool
	// MTU in bytes, 0 for DefaultMTU; the fabric's largest packet caps it.
	MTU int
	// MAC of the device; nil leaves it to the kernel. See MAC.
	MAC net.HardwareAddr
	// Addrs are added to the device if they are not on it; none is removed.
	Addrs []netip.Prefix
	// Owner and Group may open the device without CAP_NET_ADMIN; 0: nobody.
	Owner, Group int
	// Log may be nil.
	Log *slog.Logger
}

// MAC gives a device of a host its address: locally administered, beginning
// with 02, the same at every start and different for each (host, device).
func MAC(host uuid.UUID, device string) net.HardwareAddr {
	sum := sha256.Sum256(append(host[:], device...))
	return net.HardwareAddr{0x02, sum[0], sum[1], sum[2], sum[3], sum[4]}
}

func (c Config) withDefaults() Config {
	if c.MTU == 0 {
		c.MTU = DefaultMTU
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// check looks at what can be judged without the kernel.
func (c Config) check() error {
	switch {
	case !validName(c.Name):
		return fmt.Errorf("tap: %q is no device name: use 1 to %d letters, digits, '-', '_' or '.'", c.Name, unix.IFNAMSIZ-1)
	case c.MTU < MinMTU || c.MTU > MaxMTU:
		return fmt.Errorf("tap %s: MTU %d is not within %d to %d", c.Name, c.MTU, MinMTU, MaxMTU)
	case c.MAC != nil && (len(c.MAC) != 6 || c.MAC[0]&1 != 0):
		return fmt.Errorf("tap %s: MAC %q is no unicast Ethernet address", c.Name, c.MAC)
	}
	for _, a := range c.Addrs {
		if !a.IsValid() {
			return fmt.Errorf("tap %s: an address is not valid; write it as address/prefix length", c.Name)
		}
	}
	return nil
}

func validName(name string) bool {
	if name == "" || name == "." || name == ".." || len(name) >= unix.IFNAMSIZ {
		return false
	}
	return strings.IndexFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.", r)
	}) < 0
}
