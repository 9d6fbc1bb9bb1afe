// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/tbnet2/tbnet2/ctl"
	"github.com/tbnet2/tbnet2/ctl/kernel"
)

// dial gives the daemon at a socket. At the usual socket the kernel module
// answers instead where it is loaded: it carries the traffic then.
func dial(socket string) backend {
	if socket == ctl.DefaultSocket {
		if k := kernel.New(); k.Present() {
			return kernelBackend{k}
		}
	}
	return ctl.NewClient(socket)
}

// kernelBackend says what the module cannot do.
type kernelBackend struct{ *kernel.Backend }

// Bench implements ctl.Bencher.
func (kernelBackend) Bench(context.Context, ctl.BenchRequest, func(ctl.BenchProgress)) (*ctl.BenchResult, error) {
	return nil, ctl.Errorf(ctl.CodeUnsupported, "the kernel module has no bench service: run `iperf3 -s` on the peer and `iperf3 -c PEER` here")
}

// Reload implements ctl.Reloader.
func (kernelBackend) Reload(context.Context) error {
	return ctl.Errorf(ctl.CodeUnsupported, "the kernel module has no configuration file: use `ip link` and `tbnetctl`")
}
