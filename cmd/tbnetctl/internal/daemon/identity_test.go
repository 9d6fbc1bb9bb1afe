// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/uuid"

	"github.com/tbnet2/tbnet2/cmd/tbnetctl/internal/config"
)

func TestIdentity(t *testing.T) {
	const machineID, hardware = "0123456789abcdef0123456789abcdef", "deadbeef-1234-4cde-8abc-0123456789ab"
	configured := uuid.MustParse("0f0e0d0c-0b0a-4908-8706-050403020100")
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s + "\n")} }
	plain := fstest.MapFS{"etc/machine-id": file(machineID), "proc/sys/kernel/hostname": file("node1")}
	cable := fstest.MapFS{"etc/machine-id": file(machineID), "sys/bus/thunderbolt/devices/0-0/unique_id": file(hardware)}
	none := func(string) string { return "" }
	inLab := func(string) string { return "b" }
	id, name, err := identity(plain, none, config.Host{})
	if err != nil || name != "node1" || id.Version() != 8 || id.Variant() != uuid.RFC4122 {
		t.Errorf("by machine-id: got %v (version %d), %q, %v", id, id.Version(), name, err)
	}
	if strings.Contains(strings.ReplaceAll(id.String(), "-", ""), machineID[:6]) {
		t.Errorf("%v tells the machine-id", id)
	}
	if again, _, _ := identity(plain, none, config.Host{}); again != id {
		t.Errorf("got %v, then %v", id, again)
	}
	if got, _, _ := identity(cable, none, config.Host{}); got.String() != hardware {
		t.Errorf("by the controller: got %v", got)
	}
	if got, _, _ := identity(cable, inLab, config.Host{}); got != uuid.NewSHA1(uuid.NameSpaceDNS, []byte("b.lab.tbnet2")) {
		t.Errorf("in a lab: got %v", got)
	}
	if got, name, _ := identity(cable, inLab, config.Host{UUID: configured, Name: "x"}); got != configured || name != "x" {
		t.Errorf("configured: got %v, %q", got, name)
	}
	if _, _, err := identity(fstest.MapFS{}, none, config.Host{}); err == nil || !strings.Contains(err.Error(), "machine-id") {
		t.Errorf("no identity: got %v", err)
	}
}
