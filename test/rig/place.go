// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"errors"
	"os/exec"

	"github.com/google/uuid"

	"github.com/tbnet2/tbnet2/lab"
	"github.com/tbnet2/tbnet2/rail"
	"github.com/tbnet2/tbnet2/rail/packet"
)

// Place is where a host lives: a node of a lab, or the namespaces of a process
// that such a node runs.
type Place interface {
	Name() string
	UUID() uuid.UUID
	RailNames() []string
	OpenRailsFor(endpoint uint8) ([]rail.Device, error)
	Do(f func() error) error
	Command(ctx context.Context, name string, args ...string) (*exec.Cmd, error)
	NetNS() *lab.NetNS // nil: the process's own
}

// netnsFd is a descriptor of a place's network namespace, 0 for the process's
// own.
func netnsFd(p Place) int {
	if ns := p.NetNS(); ns != nil {
		return ns.Fd()
	}
	return 0
}

// here is this process, which a node of a lab runs.
type here struct {
	HostName string
	ID       uuid.UUID
	Rails    []hereRail
}

// hereRail is a device, and its group of devices that share a cable.
type hereRail struct {
	Dev   string
	Group uint64
}

// hereOf describes a node for a process in it.
func hereOf(n *lab.Node) (h here, err error) {
	h = here{HostName: n.Name(), ID: n.UUID()}
	devs, err := n.OpenRails()
	if err != nil {
		return h, err
	}
	var errs []error
	for i, d := range devs {
		h.Rails = append(h.Rails, hereRail{Dev: n.RailNames()[i], Group: d.Info().Group})
		errs = append(errs, d.Close())
	}
	return h, errors.Join(errs...)
}

func (h here) Name() string            { return h.HostName }
func (h here) UUID() uuid.UUID         { return h.ID }
func (h here) NetNS() *lab.NetNS       { return nil }
func (h here) Do(f func() error) error { return f() }

func (h here) Command(ctx context.Context, name string, args ...string) (*exec.Cmd, error) {
	return exec.CommandContext(ctx, name, args...), nil
}

func (h here) RailNames() []string {
	var names []string
	for _, r := range h.Rails {
		names = append(names, r.Dev)
	}
	return names
}

func (h here) OpenRailsFor(endpoint uint8) (devs []rail.Device, err error) {
	for _, r := range h.Rails {
		d, err := packet.Open(packet.Config{Interface: r.Dev, Endpoint: endpoint, Bypass: true, Group: r.Group})
		if err != nil {
			for _, d := range devs {
				err = errors.Join(err, d.Close())
			}
			return nil, err
		}
		devs = append(devs, d)
	}
	return devs, nil
}
