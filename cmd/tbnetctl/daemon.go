// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/tbnet2/tbnet2/cmd/tbnetctl/internal/config"
	"github.com/tbnet2/tbnet2/cmd/tbnetctl/internal/daemon"
	"github.com/tbnet2/tbnet2/cmd/tbnetctl/internal/setup"
	"github.com/tbnet2/tbnet2/userstack/proxy"
)

// daemonFlags are what `daemon` was told. They win over the configuration,
// also when that is read again.
type daemonFlags struct {
	config    string
	pidFile   string
	reload    bool
	rails     []string
	socks     string
	local     []string
	remote    []string
	logFormat string
	logLevel  string
	group     string
	bond      bondFlags
}

func newDaemon(a *app) *cobra.Command {
	f := &daemonFlags{}
	cmd := &cobra.Command{
		Use:   "daemon",
		Short: "Run the rails and the bond in the foreground (what the systemd unit does)",
		Long: `Open the rails that the configuration names, find the peers on them, and serve
programs: through a network device (outlet tap), or through a TCP/IP stack in
the daemon (outlet userstack) with a SOCKS5 server and port forwards. SIGHUP
reads the configuration again; what does not make sense changes nothing.
Flags win over the configuration.`,
		Example: `  tbnetctl daemon
  tbnetctl daemon --rail eth0 --rail eth1 --outlet userstack --socks5 127.0.0.1:1080 -L 8080:node2:80`,
		Args: wants(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.reload {
				return a.backend().Reload(cmd.Context())
			}
			return a.runDaemon(cmd.Context(), f)
		},
	}
	configFlag(cmd, &f.config)
	fl := cmd.Flags()
	fl.StringVar(&f.pidFile, "pid-file", "", "`FILE` that holds the process id while the daemon runs")
	fl.BoolVar(&f.reload, "reload", false, "have the running daemon read its configuration again, and tell what is wrong with it")
	fl.StringArrayVar(&f.rails, "rail", nil, "use this `DEVICE` as a rail, and just those given here (may be given again)")
	fl.StringVar(&f.socks, "socks5", "", "serve SOCKS5 on `ADDRESS:PORT` (needs --outlet userstack)")
	fl.StringArrayVarP(&f.local, "local-forward", "L", nil, "listen here, connect in the bond: `[ADDRESS:]PORT:HOST:PORT`")
	fl.StringArrayVarP(&f.remote, "remote-forward", "R", nil, "listen in the bond, connect here: `[ADDRESS:]PORT:HOST:PORT`")
	fl.StringVar(&f.logFormat, "log-format", "", "text or json")
	fl.StringVar(&f.logLevel, "log-level", "", "debug, info, warn or error")
	fl.StringVar(&f.group, "group", "", "`GROUP` whose members may change things")
	f.bond.add(cmd)
	return cmd
}

// load reads the configuration and puts the flags on top.
func (f *daemonFlags) load() (config.Config, error) {
	c, _, err := loadOrDefault(f.config)
	if err != nil {
		return c, err
	}
	if len(f.rails) > 0 {
		c.Rails = nil
		for i, d := range f.rails {
			if slices.Contains(f.rails[:i], d) {
				return c, usagef("--rail %s is given twice", d)
			}
			c.Rails = append(c.Rails, config.Rail{Name: d, Device: d, CRC: true})
		}
	}
	if f.socks != "" {
		c.SOCKS = f.socks
	}
	for i, list := range [][]string{f.local, f.remote} {
		for _, s := range list {
			forward, err := proxy.ParseForward(s, i == 1)
			if err != nil {
				return c, usagef("%v", err)
			}
			c.Forwards = append(c.Forwards, forward)
		}
	}
	override(&c.Log.Format, f.logFormat)
	override(&c.Log.Level, f.logLevel)
	override(&c.Control.Group, f.group)
	return c, f.bond.apply(&c)
}

func override(to *string, v string) {
	if v != "" {
		*to = v
	}
}

func (a *app) runDaemon(ctx context.Context, f *daemonFlags) error {
	c, err := f.load()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(a.socket), 0o755); err != nil {
		return fmt.Errorf("the socket's folder: %w (give --socket a path you may write to)", err)
	}
	if f.pidFile != "" {
		p, err := setup.TakePidFile(f.pidFile)
		if err != nil {
			return err
		}
		defer func() { _ = p.Close() }()
	}
	level := &slog.LevelVar{}
	reload := make(chan os.Signal, 1)
	signal.Notify(reload, syscall.SIGHUP)
	defer signal.Stop(reload)
	err = daemon.Run(ctx, daemon.Options{
		Config: c, Load: f.load, Socket: a.socket, Reload: reload,
		Log: a.logger(c.Log.Format, level), Level: level,
	})
	if errors.Is(err, os.ErrPermission) {
		return fmt.Errorf("%w (the daemon needs root, or CAP_NET_ADMIN and CAP_NET_RAW)", err)
	}
	return err
}

// logger writes to stderr. Under systemd the journal has the time already.
func (a *app) logger(format string, level *slog.LevelVar) *slog.Logger {
	o := &slog.HandlerOptions{Level: level}
	if os.Getenv("JOURNAL_STREAM") != "" {
		o.ReplaceAttr = func(groups []string, attr slog.Attr) slog.Attr {
			if len(groups) == 0 && attr.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return attr
		}
	}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(a.err, o))
	}
	return slog.New(slog.NewTextHandler(a.err, o))
}
