// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/tbnet2/tbnet2/cmd/tbnetctl/internal/config"
	"github.com/tbnet2/tbnet2/ctl"
	"github.com/tbnet2/tbnet2/fabric"
	"github.com/tbnet2/tbnet2/userstack/proxy"
	"github.com/tbnet2/tbnet2/wire"
)

// Options say what Run does.
type Options struct {
	Config config.Config
	// Load reads the configuration again; called on a reload.
	Load   func() (config.Config, error)
	Socket string           // path of the control socket
	Reload <-chan os.Signal // asks for a reload
	Log    *slog.Logger
	Level  *slog.LevelVar // of Log; set by the configuration
}

// daemon is a running daemon. Its fields are set before anything else can see
// it, but for config.
type daemon struct {
	options  Options
	log      *slog.Logger
	started  time.Time
	host     uuid.UUID
	hostName string
	endpoint uint8

	fabric  *fabric.Fabric
	outlet  outlet
	keeper  *keeper
	history *history
	since   *since
	ways    *ways

	ctx    context.Context // ends with stop
	cancel context.CancelFunc
	wg     sync.WaitGroup
	failed chan error  // what ends the daemon
	parts  []io.Closer // in the order of their start

	reloading sync.Mutex // held by a reload
	mu        sync.Mutex // guards config
	config    config.Config
}

// Run runs the daemon until ctx ends, which is no error, or something that it
// cannot do without fails. Nothing of it is left afterwards but a persistent
// network device.
func Run(ctx context.Context, o Options) (err error) {
	d := &daemon{options: o, log: o.Log, started: time.Now(), config: o.Config, history: newHistory(), since: newSince(), failed: make(chan error, 8)}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	defer func() { err = errors.Join(err, d.stop()) }()
	if err := d.start(); err != nil {
		return err
	}
	return d.serve(ctx)
}

// start starts everything, the lowest layer first. What it has started when
// it fails is stopped by stop.
func (d *daemon) start() error {
	setLevel(d.options.Level, d.config.Log.Level)
	// First of all: a second daemon must not touch the devices of the first.
	ln, err := ctl.ListenSocket(d.options.Socket)
	if err != nil {
		return err
	}
	d.own(ln)
	if err := d.startFabric(); err != nil {
		return err
	}
	if d.outlet, err = openOutlet(d.config.Bond, d.host, d.fabric.Port(), d.log); err != nil {
		return fmt.Errorf("bond %s: %w", d.config.Bond.Name, err)
	}
	d.own(d.outlet)
	if err := d.startServices(); err != nil {
		return err
	}
	d.keeper = newKeeper(d.fabric, kernelPlant{d.endpoint}, d.log)
	d.keeper.set(d.config.Rails)
	d.run(d.keeper.run)
	server := ctl.NewServer(d, access(d.config.Control.Group, d.log), ctl.Limits{}, d.log)
	d.own(server)
	d.run(func(context.Context) error { return server.Serve(ln) })
	d.log.Info("daemon is up", "version", ctl.Version, "host", d.hostName, "uuid", d.host, "endpoint", d.endpoint, "bond", d.outlet.status().Name, "socket", d.options.Socket)
	return nil
}

func (d *daemon) startFabric() error {
	claim, err := fabric.ClaimEndpoint(0)
	if err != nil {
		return err
	}
	d.endpoint = claim.Endpoint
	d.own(claim)
	if d.host, d.hostName, err = identity(os.DirFS("/"), os.Getenv, d.config.Host); err != nil {
		return err
	}
	b := d.config.Bond
	d.fabric, err = fabric.New(fabric.Config{
		Host: d.host, HostName: d.hostName, Endpoint: d.endpoint, Service: wire.ServiceEthernet,
		Retransmit: b.Retransmit, Window: b.Window, QueueBytes: b.Queue, Log: d.log,
	})
	if err != nil {
		return err
	}
	d.own(d.fabric)
	events, unsubscribe := d.fabric.Subscribe()
	d.run(func(ctx context.Context) error {
		defer unsubscribe()
		d.follow(ctx, events)
		return nil
	})
	return nil
}

// startServices starts what programs and peers connect to.
func (d *daemon) startServices() error {
	if ln, err := d.outlet.listen(benchPort); err != nil {
		// Not worth a bond: without IPv6 only benchmarks are missing.
		d.log.Warn("no bench service: peers cannot run tbnetctl bench against this host", "error", err)
	} else {
		d.own(serveBench(ln, d.log))
	}
	d.ways = newWays(d.outlet.network(), proxy.Options{Names: d.peerAddress, Log: d.log})
	d.own(d.ways)
	return d.ways.set(d.config.SOCKS, d.config.Forwards)
}

// own has stop close c.
func (d *daemon) own(c io.Closer) { d.parts = append(d.parts, c) }

// run runs f until stop ends its context; an error ends the daemon.
func (d *daemon) run(f func(context.Context) error) {
	d.wg.Go(func() {
		if err := f(d.ctx); err != nil {
			select {
			case d.failed <- err:
			default: // an earlier one ends it
			}
		}
	})
}

// serve waits for the end and does reloads.
func (d *daemon) serve(ctx context.Context) error {
	d.notifyReady()
	watchdog, stop := d.watchdog()
	defer stop()
	for {
		select {
		case <-ctx.Done():
			d.log.Info("daemon stops")
			d.notifyStopping()
			return nil
		case err := <-d.failed:
			return err
		case <-d.outlet.done():
			return fmt.Errorf("the bond's device failed: %w", d.outlet.err())
		case <-watchdog:
			d.notifyAlive()
		case <-d.options.Reload:
			if err := d.Reload(ctx); err != nil {
				d.log.Error("configuration not taken over, nothing has changed", "error", err)
			}
		}
	}
}

// stop closes all parts, the last first, and waits for all goroutines.
func (d *daemon) stop() error {
	d.cancel()
	var errs []error
	for _, c := range slices.Backward(d.parts) {
		if err := c.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	d.wg.Wait()
	return errors.Join(errs...)
}

func setLevel(v *slog.LevelVar, name string) {
	var l slog.Level
	if v != nil && l.UnmarshalText([]byte(name)) == nil {
		v.Set(l)
	}
}

func openOutlet(b config.Bond, host uuid.UUID, port fabric.Port, log *slog.Logger) (outlet, error) {
	if b.Outlet == config.OutletUserstack {
		return openUserstack(b, host, port)
	}
	return openTAP(b, host, port, log)
}
