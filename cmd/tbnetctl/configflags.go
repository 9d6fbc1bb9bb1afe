// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/tbnet2/tbnet2/cmd/tbnetctl/internal/config"
	"github.com/tbnet2/tbnet2/cmd/tbnetctl/internal/setup"
	"github.com/tbnet2/tbnet2/doctor"
)

func configFlag(cmd *cobra.Command, path *string) {
	cmd.Flags().StringVar(path, "config", config.DefaultPath, "the daemon's configuration `FILE`")
}

// machine is what doctor looks at: this machine and the devices that the
// configuration names, where it can be read.
func (a *app) machine(configPath string) *doctor.Env {
	var devices []string
	if c, err := config.Load(configPath); err == nil {
		devices = c.Devices()
		for _, r := range c.Rails {
			if d := setup.DeviceAt(r.Path); r.Path != "" && d != "" {
				devices = append(devices, d)
			}
		}
	}
	return a.doctor(a.socket, configPath, devices)
}

// loadOrDefault reads the configuration; a missing file is the default.
func loadOrDefault(path string) (c config.Config, there bool, err error) {
	c, err = config.Load(path)
	if errors.Is(err, fs.ErrNotExist) {
		return config.Default(), false, nil
	}
	return c, err == nil, err
}

// bondFlags are settings that `up` and `daemon` take on the command line; what
// is not given is left as the configuration has it.
type bondFlags struct {
	outlet, bond, uuid, name string
	mtu                      int
	addresses                []string
}

func (f *bondFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.outlet, "outlet", "", "tap (a network device) or userstack (TCP/IP in the daemon)")
	fl.StringVar(&f.bond, "bond", "", "`NAME` of the bond's network device")
	fl.IntVar(&f.mtu, "bond-mtu", 0, "largest IP packet of the bond in `BYTES`")
	fl.StringSliceVar(&f.addresses, "address", nil, "`ADDRESS/PREFIX` of the bond (may be given again)")
	fl.StringVar(&f.uuid, "uuid", "", "this host's `UUID` instead of one made from its machine-id")
	fl.StringVar(&f.name, "host", "", "this host's `NAME` instead of the system's")
}

// apply changes c by the flags that were given.
func (f *bondFlags) apply(c *config.Config) error {
	if f.outlet != "" {
		if f.outlet != config.OutletTAP && f.outlet != config.OutletUserstack {
			return usagef("--outlet %q is neither %s nor %s", f.outlet, config.OutletTAP, config.OutletUserstack)
		}
		c.Bond.Outlet = f.outlet
	}
	if f.bond != "" {
		c.Bond.Name = f.bond
	}
	if f.mtu != 0 {
		c.Bond.MTU = f.mtu
	}
	if len(f.addresses) > 0 {
		c.Bond.Addresses = f.addresses
	}
	if f.uuid != "" {
		id, err := uuid.Parse(f.uuid)
		if err != nil || id == uuid.Nil {
			return usagef("--uuid %q is no UUID", f.uuid)
		}
		c.Host.UUID = id
	}
	if f.name != "" {
		c.Host.Name = f.name
	}
	return checkConfig(*c)
}

// checkConfig finds values that the file's parser would refuse.
func checkConfig(c config.Config) error {
	if _, err := config.Parse("command line", c.Format()); err != nil {
		var e *config.Error
		if errors.As(err, &e) {
			return usagef("%s (in what the flags make of the configuration)", e.Text)
		}
		return usagef("%v", err)
	}
	return nil
}

// parseMTU reads --mtu of `up`.
func parseMTU(s string) (int, error) {
	switch s {
	case "auto":
		return setup.AutoMTU, nil
	case "max":
		return setup.MaxMTU, nil
	case "keep":
		return setup.KeepMTU, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 576 || n > 65535 {
		return 0, usagef("--mtu %q is not auto, max, keep or a number from 576 to 65535", s)
	}
	return n, nil
}

func plain(steps []string) string {
	var out string
	for _, s := range steps {
		out += fmt.Sprintf("would %s\n", s)
	}
	return out
}
