// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"time"

	sd "github.com/coreos/go-systemd/v22/daemon"
)

// Under systemd the unit is started when the daemon says so, and restarted
// when it stops saying that it lives. Elsewhere these do nothing.

func (d *daemon) notify(state string) {
	if _, err := sd.SdNotify(false, state); err != nil {
		d.log.Warn("systemd cannot be told", "state", state, "error", err)
	}
}

func (d *daemon) notifyReady() { d.notify(sd.SdNotifyReady) }

func (d *daemon) notifyStopping() { d.notify(sd.SdNotifyStopping) }

// watchdog ticks at half the time systemd waits for a sign of life.
func (d *daemon) watchdog() (<-chan time.Time, func()) {
	interval, err := sd.SdWatchdogEnabled(false)
	if err != nil || interval == 0 {
		return nil, func() {}
	}
	t := time.NewTicker(interval / 2)
	return t.C, t.Stop
}

// notifyAlive tells that the fabric answers. One that hangs keeps this from
// returning, and systemd restarts the daemon.
func (d *daemon) notifyAlive() {
	_ = d.fabric.Status()
	d.notify(sd.SdNotifyWatchdog)
}
