// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tbnet2/tbnet2/ctl"
)

// TestReportLeaksNothing plants names and addresses wherever a report could
// pick them up, in every spelling, and looks for them in the outcome.
func TestReportLeaksNothing(t *testing.T) {
	const (
		own, peer = "hilberts-laptop", "Noether.example.org"
		uuid      = "deadbeef-1234-4cde-8abc-0123456789ab"
		machineID = "0123456789abcdef0123456789abcdef"
		mac       = "02:aa:bb:cc:dd:ee"
	)
	secrets := []string{own, "hilbert", "noether", uuid, strings.ReplaceAll(uuid, "-", ""), "deadbeef", machineID, mac,
		"02aabbccddee", "02-aa-bb-cc-dd-ee", "aabb:ccff", "192.0.2.77", "2001:db8::77", "2001:db8:0:0:0:0:0:77", "aa:bb:cc"}
	m, s := machineTree(), healthy()
	m["proc/sys/kernel/hostname"] = own + "\n"
	m["sys/bus/thunderbolt/devices/0-1/unique_id"] = uuid
	m.netdev("enx02aabbccddee", "33", 1500)
	s.Host.Name, s.Host.UUID = own, uuid
	p := &s.Peers[0]
	p.Name, p.UUID, p.Addresses = peer, strings.ToUpper(uuid), []string{"fe80::aabb:ccff:fedd:eeff%enx02aabbccddee", "2001:db8::77"}
	p.Reason = "HELLO of NOETHER (" + mac + ") at 192.0.2.77:5001, machine-id " + machineID + "."
	s.Bonds[0].Addresses = []string{"192.0.2.77/24", "2001:db8::77/64", "2001:db8:0:0:0:0:0:77"}
	s.Rails[0].Peer, s.Rails[0].Device, s.Rails[0].PeerUUID = "noether", "enx02aabbccddee", uuid
	s.Rails[1].State, s.Rails[1].Reason = ctl.RailDown, "hilberts-laptop is not heard by 02-AA-BB-CC-DD-EE"
	s.Warnings = []ctl.Warning{{Code: "uuid_conflict", Message: own + " and " + peer + " have " + uuid + " (" + mac + ")"}}
	out, err := Anonymised(t.Context(), env(m, &s, nil), Checks())
	if err != nil {
		t.Fatal(err)
	}
	low := strings.ToLower(string(out))
	for _, secret := range secrets {
		if i := strings.Index(low, strings.ToLower(secret)); i >= 0 {
			t.Errorf("%q leaks: ...%s...", secret, out[max(0, i-60):min(len(out), i+60)])
		}
	}
	var back struct {
		Machine     machine
		Thunderbolt bus
		Status      ctl.Status
		Doctor      struct{ Checks []struct{ Check string } }
	}
	if err := json.Unmarshal(out, &back); err != nil {
		t.Fatal(err)
	}
	// What the report is for must still be there.
	if back.Machine.Kernel != "6.12.5-amd64" || back.Machine.CPUs != 2 || len(back.Doctor.Checks) != len(Checks()) {
		t.Errorf("machine %+v, %d checks", back.Machine, len(back.Doctor.Checks))
	}
	if x := back.Thunderbolt.XDomains; len(x) != 2 || x[0].Name != "0-1" || x[0].Lanes != 2 || x[0].Speed != 20 {
		t.Errorf("links: %+v", x)
	}
	if r := back.Status.Rails; r[0].Name != "tbr0" || r[0].RateBPS != s.Rails[0].RateBPS || r[0].Counters != s.Rails[0].Counters || r[1].State != ctl.RailDown {
		t.Errorf("rails: %+v", r)
	}
	// One original, one pseudonym.
	if h, p := back.Status.Host.UUID, back.Status.Peers[0].UUID; h != p || !strings.HasPrefix(h, "uuid-") {
		t.Errorf("the same UUID became %q and %q", h, p)
	}
	if d := back.Status.Rails[0].Device; !strings.HasPrefix(d, "enx-mac-") {
		t.Errorf("device became %q", d)
	}
	if a := back.Status.Bonds[0].Addresses; a[1] != a[2]+"/64" {
		t.Errorf("two spellings of one address became %q and %q", a[1], a[2])
	}
}

func TestAnonymiserKeeps(t *testing.T) {
	a := newAnonymiser([]string{"node1", ""})
	for _, keep := range []string{"6.12.5-amd64", "0000:00:0d.2", "2026-01-02T03:04:05Z", "0-1.0", "tbr0 is down (no carrier)", "1.5", "a: b", "node", ""} {
		if got := a.text(keep); got != keep {
			t.Errorf("%q became %q", keep, got)
		}
	}
	cases := [][2]string{
		{"node1", "host-1"}, {"NODE1.", "host-1."}, {"at 192.0.2.1.", "at address-1."}, {"192.0.2.1:80", "address-1:80"},
		{"[fe80::1]:5", "[address-2]:5"}, {"fe80::1/64", "address-2/64"}, {"::", "address-3"},
	}
	for _, c := range cases {
		if got := a.text(c[0]); got != c[1] {
			t.Errorf("%q became %q, want %q", c[0], got, c[1])
		}
	}
}
