// SPDX-License-Identifier: Apache-2.0

// Package doctor checks a host layer by layer, from the kernel to the bond,
// and says of each fault what causes it and what to do. Checks is the table;
// all they know of the machine comes through an Env, so that tests show them
// machines that do not exist. It also writes the anonymised report.
package doctor

import (
	"context"
	"io/fs"
	"time"

	"github.com/tbnet2/tbnet2/ctl"
)

// Level is how bad a result is. It is also the exit code of `tbnetctl doctor`.
type Level int

// Levels.
const (
	OK Level = iota
	Warn
	Fail
)

// String names the level as it is printed.
func (l Level) String() string { return [...]string{"OK", "WARN", "FAIL"}[l] }

// MarshalText implements encoding.TextMarshaler.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// Layer is where in the stack a check looks. The first layer with a fault
// explains those above it.
type Layer string

// Layers, from the bottom up.
const (
	Kernel     Layer = "kernel"
	Controller Layer = "controller"
	Port       Layer = "port"
	Peer       Layer = "peer"
	Service    Layer = "service"
	Daemon     Layer = "daemon"
	Rail       Layer = "rail"
	Bond       Layer = "bond"
	Tuning     Layer = "tuning"
)

// Result is what a check found. Cause is one line; Fix says what to do and is
// empty where the level is OK.
type Result struct {
	Level Level  `json:"level"`
	Cause string `json:"cause"`
	Fix   string `json:"fix,omitempty"`
	// Untold is set where the check could not be made without the daemon.
	Untold bool `json:"untold,omitempty"`
}

// Check is one row of the table. Func must not change anything; ctx bounds
// its time.
type Check struct {
	Name  string
	Layer Layer
	Func  func(ctx context.Context, env *Env) Result
}

// Env is all that checks see of the machine.
type Env struct {
	// FS is the root of the file system: "sys/class/net", "proc/modules".
	FS fs.FS
	// Status asks the running daemon; it is called once for all checks.
	Status func(context.Context) (*ctl.Status, error)
	// Features gives a network device's offloads by ethtool's short names
	// ("tso", "tx", "sg", "gro"); nil where they cannot be read.
	Features func(device string) (map[string]bool, error)
	Socket   string   // the daemon's
	Config   string   // the daemon's configuration, below FS without a leading slash
	Devices  []string // devices the configuration names as rails
	Now      func() time.Time
	Pause    func(context.Context, time.Duration) // waits, to see whether a counter grows

	status    *ctl.Status // from Status
	statusErr error
	bus       *bus
}

// Finding is a Result with the check it comes from.
type Finding struct {
	Check string `json:"check"`
	Layer Layer  `json:"layer"`
	Result
}

// Report is the outcome of all checks.
type Report struct {
	SchemaVersion int       `json:"schema_version"`
	Simulated     bool      `json:"simulated"`
	Level         Level     `json:"level"`           // the worst
	First         *Finding  `json:"first,omitempty"` // the lowest fault: mend this first
	Findings      []Finding `json:"checks"`
}

// Run makes all checks of the table in its order.
func Run(ctx context.Context, env *Env, checks []Check) *Report {
	env.prepare(ctx)
	r := &Report{SchemaVersion: ctl.SchemaVersion, Simulated: env.status != nil && env.status.Simulated}
	for _, c := range checks {
		r.add(Finding{Check: c.Name, Layer: c.Layer, Result: c.Func(ctx, env)})
	}
	return r
}

// add appends f. First is the first FAIL, and the first WARN where none fails.
func (r *Report) add(f Finding) {
	r.Findings = append(r.Findings, f)
	if f.Level > r.Level {
		r.Level = f.Level
		r.First = &f
	}
}

// prepare reads what several checks share.
func (env *Env) prepare(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	env.status, env.statusErr = env.Status(ctx)
	env.bus = readBus(env.FS)
}

// Checks is the table, from the lowest layer up. Later work appends to it.
func Checks() []Check {
	return []Check{
		{"kernel version", Kernel, kernelVersion},
		{"kernel modules", Kernel, kernelModules},
		{"controllers", Controller, controllers},
		{"ports", Port, ports},
		{"link speed", Port, linkSpeed},
		{"network service", Service, netService},
		{"daemon", Daemon, daemonRunning},
		{"control socket", Daemon, controlSocket},
		{"rail devices", Rail, railDevices},
		{"rail managers", Rail, railManagers},
		{"rail MTU", Rail, railMTU},
		{"rail states", Rail, railStates},
		{"rail stability", Rail, railStability},
		{"peers", Peer, peersVisible},
		{"versions", Peer, versions},
		{"host UUIDs", Peer, uuidConflict},
		{"bond", Bond, bonds},
		{"bond offloads", Bond, bondOffloads},
		{"drops", Bond, drops},
		{"CPU governor", Tuning, cpuGovernor},
	}
}

func ok(cause string) Result        { return Result{Level: OK, Cause: cause} }
func warn(cause, fix string) Result { return Result{Level: Warn, Cause: cause, Fix: fix} }
func fail(cause, fix string) Result { return Result{Level: Fail, Cause: cause, Fix: fix} }
