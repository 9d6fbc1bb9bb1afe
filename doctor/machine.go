// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tbnet2/tbnet2/ctl"
)

// Machine gives an Env of this machine. devices are those the configuration
// names; socket and config are absolute paths.
func Machine(socket, config string, devices []string) *Env {
	return &Env{
		FS: os.DirFS("/"), Status: ctl.NewClient(socket).Status, Features: features, Now: time.Now, Pause: pause,
		Socket: socket, Config: strings.TrimPrefix(config, "/"), Devices: devices,
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// ethtoolGet are the ethtool commands that read one offload each.
var ethtoolGet = map[string]uint32{
	"tx":  unix.ETHTOOL_GTXCSUM,
	"sg":  unix.ETHTOOL_GSG,
	"tso": unix.ETHTOOL_GTSO,
	"gro": unix.ETHTOOL_GGRO,
}

// ethtoolValue is struct ethtool_value of linux/ethtool.h.
type ethtoolValue struct{ cmd, data uint32 }

// ifreqData is struct ifreq with its ifr_data.
type ifreqData struct {
	name [unix.IFNAMSIZ]byte
	data unsafe.Pointer
	_    [16]byte
}

// features reads a device's offloads with the ethtool ioctl.
func features(device string) (map[string]bool, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }()
	out := map[string]bool{}
	for name, cmd := range ethtoolGet {
		value := ethtoolValue{cmd: cmd}
		req := ifreqData{data: unsafe.Pointer(&value)}
		copy(req.name[:unix.IFNAMSIZ-1], device)
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&req))); errno != 0 {
			return nil, fmt.Errorf("ethtool on %s: %w", device, errno)
		}
		out[name] = value.data != 0
	}
	return out, nil
}
