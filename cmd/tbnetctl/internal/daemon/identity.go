// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/google/uuid"

	"github.com/tbnet2/tbnet2/cmd/tbnetctl/internal/config"
)

// labHostVar names the host in the environment of a lab's commands, which all
// see one machine's ids.
const labHostVar = "TBNET2_LAB_HOST"

// identity says who this host is: as configured; in a lab by the host's name;
// by its Thunderbolt controller; or by its machine-id, which itself must not
// be shown to the network.
func identity(root fs.FS, getenv func(string) string, h config.Host) (uuid.UUID, string, error) {
	name := h.Name
	if name == "" {
		name = firstLine(root, "proc/sys/kernel/hostname")
	}
	name, _, _ = strings.Cut(name, "\n")
	if h.UUID != uuid.Nil {
		return h.UUID, name, nil
	}
	if host := getenv(labHostVar); host != "" {
		return uuid.NewSHA1(uuid.NameSpaceDNS, []byte(host+".lab.tbnet2")), name, nil
	}
	if id, err := uuid.Parse(firstLine(root, "sys/bus/thunderbolt/devices/0-0/unique_id")); err == nil && id != uuid.Nil {
		return id, name, nil
	}
	id, err := hex.DecodeString(firstLine(root, "etc/machine-id"))
	if err != nil || len(id) != 16 {
		return uuid.Nil, "", errors.New("this host has no identity: /etc/machine-id is missing or malformed; run systemd-machine-id-setup, or set uuid in [host] of the configuration")
	}
	return fromMachineID(id), name, nil
}

// fromMachineID derives a UUID that does not tell the machine-id, as
// machine-id(5) asks for.
func fromMachineID(id []byte) uuid.UUID {
	mac := hmac.New(sha256.New, id)
	mac.Write([]byte("tbnet2 host"))
	var out uuid.UUID
	copy(out[:], mac.Sum(nil))
	out[6] = out[6]&0x0f | 0x80 // version 8: of the application's own making
	out[8] = out[8]&0x3f | 0x80 // variant of RFC 9562
	return out
}

func firstLine(root fs.FS, path string) string {
	data, err := fs.ReadFile(root, path)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(data), "\n")
	return strings.TrimSpace(line)
}

// simulated tells whether a network device is no hardware: a device without
// one behind it in sysfs.
func simulated(device string) bool {
	_, err := os.Lstat(fmt.Sprintf("/sys/class/net/%s/device", device))
	return err != nil
}
