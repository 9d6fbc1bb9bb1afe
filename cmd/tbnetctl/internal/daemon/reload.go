// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"slices"

	"github.com/tbnet2/tbnet2/cmd/tbnetctl/internal/config"
	"github.com/tbnet2/tbnet2/ctl"
)

// Reload implements ctl.Reloader: it reads the configuration again and takes
// over what has changed, or nothing where a part of it cannot be taken over.
// Rails whose device is not there or cannot be opened are no reason for that:
// they are tried again.
func (d *daemon) Reload(context.Context) error {
	d.reloading.Lock()
	defer d.reloading.Unlock()
	next, err := d.options.Load()
	if err != nil {
		return ctl.Errorf(ctl.CodeInvalid, "%v", err)
	}
	d.mu.Lock()
	now := d.config
	d.mu.Unlock()
	if err := fixed(now, next); err != nil {
		return err
	}
	if err := d.ways.set(next.SOCKS, next.Forwards); err != nil {
		return err
	}
	if err := d.outlet.change(bondChange(now.Bond, next.Bond)); err != nil {
		// What was there before can be opened: its ports have just come free.
		if back := d.ways.set(now.SOCKS, now.Forwards); back != nil {
			d.log.Error("forwards are gone", "error", back)
		}
		return err
	}
	// From here on nothing can fail.
	d.keeper.set(next.Rails)
	setLevel(d.options.Level, next.Log.Level)
	d.mu.Lock()
	d.config = next
	d.mu.Unlock()
	d.log.Info("configuration taken over")
	return nil
}

// fixed refuses what only a restart can change.
func fixed(now, next config.Config) error {
	for _, f := range []struct {
		what string
		same bool
	}{
		{"[host]", now.Host == next.Host},
		{"outlet in [bond]", now.Bond.Outlet == next.Bond.Outlet},
		{"name in [bond]", now.Bond.Name == next.Bond.Name},
		{"retransmit in [bond]", now.Bond.Retransmit == next.Bond.Retransmit},
		{"window in [bond]", now.Bond.Window == next.Bond.Window},
		{"queue in [bond]", now.Bond.Queue == next.Bond.Queue},
		{"rmem or wmem in [bond]", now.Bond.ReadBuffer == next.Bond.ReadBuffer && now.Bond.WriteBuffer == next.Bond.WriteBuffer},
		{"format in [log]", now.Log.Format == next.Log.Format},
		{"[control]", now.Control == next.Control},
	} {
		if !f.same {
			return ctl.Errorf(ctl.CodeInvalid, "%s cannot be changed while the daemon runs: systemctl restart tbnet2 (or tbnetctl down, then up)", f.what)
		}
	}
	return nil
}

// bondChange gives what is new. Addresses that are not configured any more
// stay: they may be an administrator's own.
func bondChange(now, next config.Bond) ctl.BondChange {
	c := ctl.BondChange{Name: next.Name}
	if next.MTU != now.MTU {
		c.MTU = next.MTU
	}
	for _, a := range next.Addresses {
		if !slices.Contains(now.Addresses, a) {
			c.Addresses = append(c.Addresses, a)
		}
	}
	return c
}
