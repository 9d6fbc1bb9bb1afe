// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/tbnet2/tbnet2/cmd/tbnetctl/internal/config"
	"github.com/tbnet2/tbnet2/cmd/tbnetctl/internal/setup"
	"github.com/tbnet2/tbnet2/ctl"
)

// upFlags are what `up` was told.
type upFlags struct {
	config  string
	mtu     string
	service string
	wait    time.Duration
	dryRun  bool
	bond    bondFlags
}

func newUp(a *app) *cobra.Command {
	f := &upFlags{}
	cmd := &cobra.Command{
		Use:   "up [DEVICE...]",
		Short: "Make every Thunderbolt network device (or the named ones) a rail and start the bond",
		Long: `Make every Thunderbolt network device a rail, or the named devices: raise its
MTU, set it up, write the configuration and start the daemon (by systemd where
it runs and the unit is installed). Rails on cables are named by domain and
route and keep their names. Run again it takes in what was plugged in since.
Exit code 1 where no peer has answered in time.`,
		Args: wants(0, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.up(cmd.Context(), f, args)
		},
	}
	configFlag(cmd, &f.config)
	cmd.Flags().StringVar(&f.mtu, "mtu", "auto", "MTU of the rails: auto (the maximum for cables and veth), max, keep, or `BYTES`")
	cmd.Flags().StringVar(&f.service, "service", "auto", "auto, systemd or background: how the daemon is started")
	cmd.Flags().DurationVar(&f.wait, "wait", 10*time.Second, "how long to wait for a peer; 0 not at all")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "only print what would be done")
	f.bond.add(cmd)
	return cmd
}

// upResult is the JSON document of `up`.
type upResult struct {
	SchemaVersion int      `json:"schema_version"`
	DryRun        bool     `json:"dry_run"`
	Service       string   `json:"service"`
	Steps         []string `json:"steps"`
	Peers         []string `json:"peers"` // that answered
}

func (a *app) up(ctx context.Context, f *upFlags, devices []string) error {
	how, err := f.how(ctx, a.socket)
	if err != nil {
		return err
	}
	plan, old, err := f.plan(devices)
	if err != nil {
		return err
	}
	out := upResult{ctl.SchemaVersion, f.dryRun, how, plan.Steps(f.config), []string{}}
	out.Steps = append(out.Steps, "start the daemon ("+how+")")
	if f.dryRun {
		if a.json {
			return a.printJSON(out)
		}
		_, err := fmt.Fprint(a.out, plain(out.Steps))
		return err
	}
	if os.Geteuid() != 0 {
		return errors.New("up changes network devices and needs root: use sudo (--dry-run shows what it would do)")
	}
	p := &progress{a: a}
	defer p.done()
	if err := a.bringUp(ctx, f, plan, old, how, p); err != nil {
		return err
	}
	return a.awaitPeers(ctx, f.wait, &out, p)
}

// plan reads the present state and decides.
func (f *upFlags) plan(devices []string) (plan setup.Plan, old *config.Config, err error) {
	mtu, err := parseMTU(f.mtu)
	if err != nil {
		return plan, nil, err
	}
	c, there, err := loadOrDefault(f.config)
	if err != nil {
		return plan, nil, err
	}
	if there {
		before := c.Clone()
		old = &before
	}
	if err := f.bond.apply(&c); err != nil {
		return plan, nil, err
	}
	links, err := setup.Kernel{}.List()
	if err != nil {
		return plan, nil, err
	}
	plan, err = setup.MakePlan(c, links, setup.Options{Devices: devices, MTU: mtu})
	return plan, old, err
}

// how decides what starts the daemon.
func (f *upFlags) how(ctx context.Context, socket string) (string, error) {
	standard := f.config == config.DefaultPath && socket == ctl.DefaultSocket
	switch f.service {
	case "auto":
		if standard && setup.HaveSystemd() && setup.HaveUnit(ctx) {
			return setup.BySystemd, nil
		}
		return setup.InBackground, nil
	case setup.BySystemd:
		if !standard {
			return "", usagef("--service systemd goes with the standard --config and --socket only")
		}
		return setup.BySystemd, nil
	case setup.InBackground:
		return setup.InBackground, nil
	}
	return "", usagef("--service %q is not auto, systemd or background", f.service)
}

// bringUp changes devices, writes the configuration and starts the daemon.
// Where that fails everything is as before.
func (a *app) bringUp(ctx context.Context, f *upFlags, plan setup.Plan, old *config.Config, how string, p *progress) error {
	p.step("setting up the devices", "")
	undo, err := plan.Apply(setup.Kernel{})
	if err != nil {
		return err
	}
	p.step("writing "+f.config, "")
	if err := config.Save(f.config, plan.Config); err != nil {
		return errors.Join(err, undo())
	}
	p.step("starting the daemon", "")
	if err := a.startDaemon(ctx, f.config, how); err != nil {
		return errors.Join(err, restoreConfig(f.config, old), undo())
	}
	return setup.SaveState(a.socket, setup.State{Service: how, Config: f.config, Changes: plan.Changes})
}

func restoreConfig(path string, old *config.Config) error {
	if old != nil {
		return config.Save(path, *old)
	}
	return os.Remove(path)
}

// pidPath and logPath of a daemon in the background.
func pidPath(socket string) string { return socket + ".pid" }
func logPath(socket string) string { return socket + ".log" }

// startDaemon starts the daemon, or has a running one read its configuration.
func (a *app) startDaemon(ctx context.Context, configPath, how string) error {
	if _, err := a.backend().Status(ctx); err == nil {
		return a.backend().Reload(ctx)
	}
	if how == setup.BySystemd {
		return setup.Systemctl(ctx, "enable", "--now", setup.Unit)
	}
	config, err := filepath.Abs(configPath)
	if err != nil {
		return err
	}
	socket, err := filepath.Abs(a.socket)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	b, err := setup.StartBackground([]string{self, "daemon", "--config", config, "--socket", socket, "--pid-file", pidPath(socket)}, logPath(socket))
	if err != nil {
		return fmt.Errorf("start the daemon: %w", err)
	}
	return a.awaitDaemon(ctx, b)
}

// daemonStart bounds the time until a started daemon answers.
const daemonStart = 15 * time.Second

func (a *app) awaitDaemon(ctx context.Context, b *setup.Background) error {
	ctx, cancel := context.WithTimeout(ctx, daemonStart)
	defer cancel()
	c, stop := a.tick(50 * time.Millisecond)
	defer stop()
	for {
		if _, err := a.backend().Status(ctx); err == nil {
			return nil
		}
		select {
		case <-c:
		case <-b.Exited:
			return fmt.Errorf("the daemon does not start: %w", b.Err)
		case <-ctx.Done():
			return fmt.Errorf("the daemon does not answer: see %s", logPath(a.socket))
		}
	}
}

// awaitPeers waits until a peer is connected and says who is there.
func (a *app) awaitPeers(ctx context.Context, wait time.Duration, out *upResult, p *progress) error {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	c, stop := a.tick(100 * time.Millisecond)
	defer stop()
	begin := time.Now()
	for wait > 0 && len(out.Peers) == 0 && ctx.Err() == nil {
		p.step("waiting for a peer", fmt.Sprintf("%.0f s", time.Since(begin).Seconds()))
		if s, err := a.backend().Status(ctx); err == nil {
			out.Peers = connected(s)
		}
		select {
		case <-c:
		case <-ctx.Done():
		}
	}
	p.done()
	return a.printUp(out, wait)
}

func connected(s *ctl.Status) []string {
	out := []string{}
	for i := range s.Peers {
		if p := &s.Peers[i]; p.State == ctl.PeerConnected {
			out = append(out, fmt.Sprintf("%s (%s)", p.Name, plural(len(p.Rails), "rail")))
		}
	}
	return out
}

func (a *app) printUp(out *upResult, wait time.Duration) error {
	if a.json {
		if err := a.printJSON(out); err != nil {
			return err
		}
	} else {
		for _, s := range out.Steps {
			_, _ = fmt.Fprintln(a.out, s)
		}
		_, _ = fmt.Fprintf(a.out, "peers: %s\n", list(out.Peers))
	}
	if wait > 0 && len(out.Peers) == 0 {
		return fmt.Errorf("the bond is there, but no peer has answered in %v: run `tbnetctl up` on the other host, then `tbnetctl doctor` here", wait)
	}
	return nil
}
