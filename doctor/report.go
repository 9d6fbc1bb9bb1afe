// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"path"
	"runtime"
	"strings"

	"github.com/tbnet2/tbnet2/ctl"
)

// bugReport is the anonymised file for people who have the hardware.
type bugReport struct {
	SchemaVersion int              `json:"schema_version"`
	Version       string           `json:"version"`
	Simulated     bool             `json:"simulated"`
	Machine       machine          `json:"machine"`
	Thunderbolt   *bus             `json:"thunderbolt"`
	Devices       []reportedDevice `json:"devices"`
	Doctor        *Report          `json:"doctor"`
	Status        *ctl.Status      `json:"status"`
	StatusError   string           `json:"status_error,omitempty"`
}

type machine struct {
	Kernel     string            `json:"kernel"`
	Arch       string            `json:"arch"`
	CPU        string            `json:"cpu"`
	CPUs       int               `json:"cpus"`
	Product    string            `json:"product"`
	Modules    []string          `json:"modules"`
	Parameters map[string]string `json:"thunderbolt_parameters"`
}

// reportedDevice is a rail's network device by sysfs.
type reportedDevice struct {
	Name    string            `json:"name"`
	MTU     int               `json:"mtu"`
	Up      bool              `json:"up"`
	Carrier bool              `json:"carrier"`
	Speed   string            `json:"speed_mbps"`
	Flaps   string            `json:"carrier_changes"`
	Counts  map[string]string `json:"statistics"`
}

// Anonymised makes all checks and gives one JSON document of the machine, its
// links, rails and counters in which host names, UUIDs, MAC and IP addresses
// are replaced by pseudonyms.
func Anonymised(ctx context.Context, env *Env, checks []Check) ([]byte, error) {
	r := bugReport{SchemaVersion: ctl.SchemaVersion, Version: ctl.Version, Doctor: Run(ctx, env, checks)}
	r.Machine, r.Thunderbolt, r.Status = readMachine(env.FS), env.bus, env.status
	r.Simulated = r.Doctor.Simulated
	if env.statusErr != nil {
		r.StatusError = env.statusErr.Error()
	}
	for _, name := range env.railNetdevs() {
		if d, there := readNetdev(env.FS, name); there {
			r.Devices = append(r.Devices, report(env.FS, d))
		}
	}
	tree, err := decodeTree(r)
	if err != nil {
		return nil, err
	}
	return json.MarshalIndent(newAnonymiser(env.hostNames()).value(tree), "", "  ")
}

// decodeTree gives v as JSON's own types, numbers kept as they are.
func decodeTree(v any) (any, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var tree any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return tree, d.Decode(&tree)
}

// hostNames are all names of hosts that could stand in the report.
func (env *Env) hostNames() []string {
	names := []string{read(env.FS, "proc/sys/kernel", "hostname"), read(env.FS, "etc", "hostname"), read(env.FS, "proc/sys/kernel", "domainname")}
	if names[2] == "(none)" {
		names = names[:2]
	}
	if s := env.status; s != nil {
		names = append(names, s.Host.Name)
		for i := range s.Peers {
			names = append(names, s.Peers[i].Name)
		}
		for i := range s.Rails {
			names = append(names, s.Rails[i].Peer)
		}
	}
	return names
}

func readMachine(root fs.FS) machine {
	m := machine{Kernel: read(root, "proc/sys/kernel", "osrelease"), Arch: runtime.GOARCH,
		Product: strings.TrimSpace(read(root, "sys/class/dmi/id", "sys_vendor") + " " + read(root, "sys/class/dmi/id", "product_name")),
		Modules: []string{}, Parameters: map[string]string{}}
	for line := range strings.Lines(read(root, "proc", "cpuinfo")) {
		k, v, _ := strings.Cut(line, ":")
		switch strings.TrimSpace(k) {
		case "processor":
			m.CPUs++
		case "model name":
			m.CPU = strings.TrimSpace(v)
		}
	}
	for _, name := range []string{"thunderbolt", "thunderbolt_net", "tun", "tbnet2", "tbsim", "veth"} {
		if has(root, "sys/module", name) {
			m.Modules = append(m.Modules, strings.TrimSpace(name+" "+read(root, path.Join("sys/module", name), "version")))
		}
	}
	const dir = "sys/module/thunderbolt/parameters"
	entries, _ := fs.ReadDir(root, dir)
	for _, e := range entries {
		m.Parameters[e.Name()] = read(root, dir, e.Name())
	}
	return m
}

func report(root fs.FS, d netdev) reportedDevice {
	dir := path.Join("sys/class/net", d.Name)
	out := reportedDevice{Name: d.Name, MTU: d.MTU, Up: d.Up, Carrier: d.Carrier,
		Speed: read(root, dir, "speed"), Flaps: read(root, dir, "carrier_changes"), Counts: map[string]string{}}
	entries, _ := fs.ReadDir(root, path.Join(dir, "statistics"))
	for _, e := range entries {
		if v := read(root, path.Join(dir, "statistics"), e.Name()); v != "0" {
			out.Counts[e.Name()] = v
		}
	}
	return out
}
