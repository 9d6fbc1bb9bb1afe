// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/tbnet2/tbnet2/cmd/tbnetctl/internal/config"
	"github.com/tbnet2/tbnet2/cmd/tbnetctl/internal/setup"
	"github.com/tbnet2/tbnet2/fabric"
	"github.com/tbnet2/tbnet2/rail"
	"github.com/tbnet2/tbnet2/rail/packet"
)

// railFabric is what the keeper needs of a fabric.
type railFabric interface {
	AddRail(dev rail.Device, o fabric.RailOptions) error
	RemoveRail(name string) error
}

// plant finds and opens devices; the real one is kernelPlant.
type plant interface {
	// find gives the name and index of the device that r is on now; index 0
	// where there is none.
	find(r config.Rail) (name string, index int)
	// open readies and opens it.
	open(r config.Rail, device string) (rail.Device, error)
}

// keeper holds the rails that the configuration names open, as far as their
// devices are there: a device that goes and comes back, under the same name or
// on the same cable, is taken up again.
type keeper struct {
	fabric railFabric
	plant  plant
	log    *slog.Logger

	mu    sync.Mutex // guards what follows
	want  []config.Rail
	rails map[string]*kept
}

// kept is what the keeper knows of one configured rail.
type kept struct {
	config config.Rail
	device string
	index  int    // of the open device; 0: not open
	err    string // why it is not open, as last logged
}

func newKeeper(f railFabric, p plant, log *slog.Logger) *keeper {
	return &keeper{fabric: f, plant: p, log: log, rails: map[string]*kept{}}
}

// set makes want the rails that should be there, and opens and removes what
// that needs. A rail that cannot be opened is tried again by check.
func (k *keeper) set(want []config.Rail) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.want = want
	wanted := map[string]bool{}
	for _, r := range want {
		wanted[r.Name] = true
		if have := k.rails[r.Name]; have != nil && have.config != r {
			k.remove(r.Name, "its configuration has changed")
		}
	}
	for name := range k.rails {
		if !wanted[name] {
			k.remove(name, "it is not configured any more")
		}
	}
	k.sync()
}

// check looks at the devices again.
func (k *keeper) check() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.sync()
}

func (k *keeper) sync() {
	for _, r := range k.want {
		device, index := k.plant.find(r)
		have := k.rails[r.Name]
		if have != nil && have.index != 0 && have.index != index {
			k.remove(r.Name, "its device is gone")
			have = nil
		}
		if have == nil {
			have = &kept{config: r}
			k.rails[r.Name] = have
		}
		if have.index == 0 {
			k.open(have, device, index)
		}
	}
}

func (k *keeper) open(have *kept, device string, index int) {
	err := errors.New("no such device")
	if index != 0 {
		err = k.add(have.config, device)
	}
	if err != nil {
		if have.err != err.Error() {
			k.log.Warn("rail is not there", "rail", have.config.Name, "device", have.config.Device+have.config.Path, "reason", err)
			have.err = err.Error()
		}
		return
	}
	have.device, have.index, have.err = device, index, ""
	k.log.Info("rail added", "rail", have.config.Name, "device", device)
}

func (k *keeper) add(r config.Rail, device string) error {
	dev, err := k.plant.open(r, device)
	if err != nil {
		return err
	}
	err = k.fabric.AddRail(dev, fabric.RailOptions{Name: r.Name, Weight: r.Weight, NoCRC: !r.CRC})
	if err != nil {
		return errors.Join(err, dev.Close())
	}
	return nil
}

func (k *keeper) remove(name, why string) {
	have := k.rails[name]
	delete(k.rails, name)
	if have.index == 0 {
		return
	}
	if err := k.fabric.RemoveRail(name); err != nil {
		k.log.Warn("remove rail", "rail", name, "error", err)
		return
	}
	k.log.Info("rail removed", "rail", name, "device", have.device, "reason", why)
}

// absentRail is a configured rail without a device.
type absentRail struct {
	config config.Rail
	reason string
}

// absent lists the rails that are not open.
func (k *keeper) absent() []absentRail {
	k.mu.Lock()
	defer k.mu.Unlock()
	var out []absentRail
	for _, r := range k.want {
		if have := k.rails[r.Name]; have != nil && have.index == 0 {
			out = append(out, absentRail{r, have.err})
		}
	}
	return out
}

// recheck is how often the devices are looked at without a word from the
// kernel: to try again what failed to open.
const recheck = 2 * time.Second

// run follows the kernel's devices until ctx ends.
func (k *keeper) run(ctx context.Context) error {
	updates, stop := make(chan netlink.LinkUpdate, 64), make(chan struct{})
	err := netlink.LinkSubscribeWithOptions(updates, stop, netlink.LinkSubscribeOptions{ErrorCallback: func(err error) {
		if ctx.Err() == nil {
			k.log.Warn("device events are lost; devices are looked at every so often", "error", err, "every", recheck)
		}
	}})
	if err != nil {
		return fmt.Errorf("follow network devices: %w", err)
	}
	tick := time.NewTicker(recheck)
	defer tick.Stop()
	done := ctx.Done()
	for {
		select {
		case _, open := <-updates:
			if !open {
				if ctx.Err() != nil {
					return nil
				}
				updates = nil // the ticker is left
				continue
			}
			k.check()
		case <-tick.C:
			k.check()
		case <-done:
			close(stop)
			if updates == nil {
				return nil
			}
			done = nil // the subscription closes updates
		}
	}
}

// kernelPlant works in the network namespace of the process.
type kernelPlant struct {
	endpoint uint8
}

func (kernelPlant) find(r config.Rail) (string, int) {
	name := r.Device
	if r.Path != "" {
		if name = setup.DeviceAt(r.Path); name == "" {
			return "", 0
		}
	}
	l, err := netlink.LinkByName(name)
	if err != nil {
		return name, 0
	}
	return name, l.Attrs().Index
}

func (p kernelPlant) open(r config.Rail, device string) (rail.Device, error) {
	if err := setup.Ready(setup.Kernel{}, r, device); err != nil {
		return nil, err
	}
	return packet.Open(packet.Config{Interface: device, Endpoint: p.endpoint})
}
