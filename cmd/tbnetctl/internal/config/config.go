// SPDX-License-Identifier: Apache-2.0

// Package config is the daemon's configuration file, by default
// /etc/tbnet2/config: sections of "key = value" lines, read strictly, so that
// a typing error is an error with its line and not a setting that is ignored.
//
//	[host]
//	name = node1
//
//	[bond]
//	outlet = tap
//	address = 10.0.0.1/24
//
//	[rail tbr0]
//	device = thunderbolt0
package config

import (
	"slices"

	"github.com/google/uuid"

	"github.com/tbnet2/tbnet2/userstack/proxy"
)

// DefaultPath is where the file is.
const DefaultPath = "/etc/tbnet2/config"

// Config is a whole configuration. Fields say which key they are.
type Config struct {
	Host     Host
	Bond     Bond
	Rails    []Rail          // in the file's order; names are unique
	SOCKS    string          // [socks5] listen: "ADDRESS:PORT" on loopback or "unix:PATH", empty without
	Forwards []proxy.Forward // [forward] local (listens here), remote (Reverse: listens in the bond)
	Log      Log
	Control  Control
}

// Host is section [host].
type Host struct {
	UUID uuid.UUID // uuid; zero: made from /etc/machine-id
	Name string    // name; empty: the system's host name
}

// Outlets of a bond.
const (
	OutletTAP       = "tap"
	OutletUserstack = "userstack"
)

// Bond is section [bond].
type Bond struct {
	Outlet     string   // outlet
	Name       string   // name, of the network device
	MTU        int      // mtu; 0: the outlet's default
	Addresses  []string // address, may be given again, CIDR
	Retransmit bool     // retransmit: lost frames are sent again on the link
	Window     int      // window: bytes of reorder memory per channel, 0 the default
	Queue      int      // queue: bytes waiting to be sent, 0 the default
	// ReadBuffer and WriteBuffer are the most bytes of a TCP connection's
	// buffers with outlet = userstack: rmem, wmem; 0 the default.
	ReadBuffer, WriteBuffer int
}

// MTUMax as a Rail's MTU is the most the device can.
const MTUMax = -1

// Rail is a section [rail NAME]. One of Device and Path is set; Path, the
// domain and route of a cable ("0-1"), finds the device whatever its name.
type Rail struct {
	Name   string
	Device string // device
	Path   string // path
	MTU    int    // mtu: the device's, set when it is opened; MTUMax, or 0 to leave it
	Weight int    // weight; 0: by measured rate
	CRC    bool   // crc: frames carry a checksum of their own
}

// Log is section [log].
type Log struct {
	Format string // format: "text" or "json"
	Level  string // level: "debug", "info", "warn", "error"
}

// Control is section [control].
type Control struct {
	Group string // group whose members may change things; empty none
}

// Default is what holds where a key is not given.
func Default() Config {
	return Config{
		Bond:    Bond{Outlet: OutletTAP, Name: "tbbond0", Retransmit: true},
		Log:     Log{Format: "text", Level: "info"},
		Control: Control{Group: "tbnet2"},
	}
}

// Clone gives a copy that shares nothing with c.
func (c Config) Clone() Config {
	c.Bond.Addresses = slices.Clone(c.Bond.Addresses)
	c.Rails = slices.Clone(c.Rails)
	c.Forwards = slices.Clone(c.Forwards)
	return c
}

// Devices names the devices that rails name.
func (c Config) Devices() []string {
	var out []string
	for _, r := range c.Rails {
		if r.Device != "" {
			out = append(out, r.Device)
		}
	}
	return out
}
