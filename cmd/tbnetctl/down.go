// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/tbnet2/tbnet2/cmd/tbnetctl/internal/config"
	"github.com/tbnet2/tbnet2/cmd/tbnetctl/internal/setup"
	"github.com/tbnet2/tbnet2/ctl"
)

// downFlags are what `down` was told.
type downFlags struct {
	config string
	keep   bool
	dryRun bool
}

func newDown(a *app) *cobra.Command {
	f := &downFlags{}
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Stop the bond and undo what up did to the devices",
		Long: `Stop the daemon, remove the bond's network device and put the rails' devices
into the state they had before "up". The configuration stays, so that the
rails have the same names next time.`,
		Args: wants(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.down(cmd.Context(), f)
		},
	}
	configFlag(cmd, &f.config)
	cmd.Flags().BoolVar(&f.keep, "keep", false, "leave the bond's network device and its addresses")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "only print what would be done")
	return cmd
}

// downResult is the JSON document of `down`.
type downResult struct {
	SchemaVersion int      `json:"schema_version"`
	DryRun        bool     `json:"dry_run"`
	Steps         []string `json:"steps"`
}

// downStep is one thing to undo.
type downStep struct {
	what string
	do   func(context.Context) error
}

func (a *app) down(ctx context.Context, f *downFlags) error {
	steps, err := a.downSteps(f)
	if err != nil {
		return err
	}
	out := downResult{ctl.SchemaVersion, f.dryRun, []string{}}
	for _, s := range steps {
		out.Steps = append(out.Steps, s.what)
	}
	if f.dryRun {
		if a.json {
			return a.printJSON(out)
		}
		_, err := fmt.Fprint(a.out, plain(out.Steps))
		return err
	}
	if os.Geteuid() != 0 {
		return errors.New("down changes network devices and needs root: use sudo (--dry-run shows what it would do)")
	}
	p := &progress{a: a}
	defer p.done()
	for _, s := range steps {
		p.step(s.what, "")
		if err := s.do(ctx); err != nil {
			return err
		}
	}
	p.done()
	if a.json {
		return a.printJSON(out)
	}
	_, err = fmt.Fprintln(a.out, "down")
	return err
}

// downSteps finds out what there is to undo.
func (a *app) downSteps(f *downFlags) ([]downStep, error) {
	state, err := setup.LoadState(a.socket)
	if errors.Is(err, fs.ErrNotExist) {
		state = setup.State{Config: f.config}
	} else if err != nil {
		return nil, err
	}
	c, _, err := loadOrDefault(state.Config)
	if err != nil {
		return nil, err
	}
	steps := a.stopSteps(state)
	links, err := setup.Kernel{}.List()
	if err != nil {
		return nil, err
	}
	if !f.keep && c.Bond.Outlet == config.OutletTAP {
		if slices.ContainsFunc(links, func(l setup.Link) bool { return l.Name == c.Bond.Name && l.Kind == "tun" }) {
			steps = append(steps, downStep{"remove " + c.Bond.Name, func(context.Context) error { return setup.Kernel{}.Delete(c.Bond.Name) }})
		}
	}
	if len(state.Changes) > 0 {
		steps = append(steps, downStep{"put the devices back as they were", func(context.Context) error { return setup.Restore(setup.Kernel{}, state.Changes) }})
	}
	if len(steps) == 0 {
		return nil, fmt.Errorf("nothing is up here (no daemon at %s, no %s)", a.socket, c.Bond.Name)
	}
	return append(steps, downStep{"forget the state", func(context.Context) error { return setup.RemoveState(a.socket) }}), nil
}

// daemonStop bounds the time a daemon may take to end.
const daemonStop = 10 * time.Second

// stopSteps stops the daemon in whatever way it was started.
func (a *app) stopSteps(state setup.State) []downStep {
	var steps []downStep
	if state.Service == setup.BySystemd {
		steps = append(steps, downStep{"stop and disable " + setup.Unit, func(ctx context.Context) error {
			return setup.Systemctl(ctx, "disable", "--now", setup.Unit)
		}})
	}
	if pid, err := setup.Running(pidPath(a.socket)); err == nil && pid != 0 {
		steps = append(steps, downStep{fmt.Sprintf("stop the daemon (process %d)", pid), func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, daemonStop)
			defer cancel()
			return setup.Stop(ctx, pidPath(a.socket))
		}})
	}
	return steps
}
