// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tbnet2/tbnet2/fabric"
	"github.com/tbnet2/tbnet2/lab"
	"github.com/tbnet2/tbnet2/transport"
)

// Outlet is a host's TCP/IP over the bundle.
type Outlet string

// Outlets.
const (
	GVisor Outlet = "gvisor" // userstack
	TAP    Outlet = "tap"    // the kernel's TCP behind a TAP
	Kernel Outlet = "kernel" // the kernel's TCP on the first rail, without a bundle
	MPTCP  Outlet = "mptcp"  // the kernel's Multipath TCP over all rails, without a bundle
	// FDBased is gVisor's TCP/IP with its own Ethernet endpoint on the first
	// rail, without a bundle.
	FDBased Outlet = "gvisor-fdbased"
)

// Config says what a pair is.
type Config struct {
	Topology lab.Topology // hosts a and b
	Outlet   Outlet
	// Policy and Unordered of both fabrics: our scheduling, or what it is
	// compared with.
	Policy    transport.Policy
	Unordered bool
	NoCRC     bool // on links that have their own
}

// Pair is two hosts that can talk.
type Pair struct {
	Lab  *lab.Lab
	A, B *Host
}

// Open builds a pair and waits until all its rails are up.
func Open(ctx context.Context, c Config) (*Pair, error) {
	m, err := mode()
	if err != nil {
		return nil, err
	}
	l, err := lab.New(ctx, c.Topology, m)
	if err != nil {
		return nil, err
	}
	p := &Pair{Lab: l}
	for _, end := range []struct {
		host **Host
		name string
		addr string
	}{{&p.A, "a", "10.78.0.1"}, {&p.B, "b", "10.78.0.2"}} {
		if *end.host, err = OpenHost(l.Host(end.name), end.addr, c); err != nil {
			return nil, errors.Join(err, p.Close())
		}
	}
	if err := p.Ready(ctx); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// Ready waits until every rail of both hosts is up at its full MTU.
func (p *Pair) Ready(ctx context.Context) error {
	for _, h := range []*Host{p.A, p.B} {
		if h.Fabric == nil {
			continue
		}
		want := len(h.Node.RailNames())
		if err := Within(ctx, 20*time.Second, fmt.Sprintf("host %s: %d rails up", h.Node.Name(), want),
			func() bool { return h.RailsUp() == want }); err != nil {
			return err
		}
	}
	return nil
}

// Close undoes everything.
func (p *Pair) Close() error {
	var errs []error
	for _, h := range []*Host{p.A, p.B} {
		if h != nil {
			errs = append(errs, h.Close())
		}
	}
	return errors.Join(append(errs, p.Lab.Close())...)
}

// Within polls until ok, or fails after d.
func Within(ctx context.Context, d time.Duration, what string, ok func() bool) error {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	timeout := time.After(d)
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		case <-timeout:
			return fmt.Errorf("not within %v: %s", d, what)
		}
	}
	return nil
}

// up counts the rails of all peers that are up at their full MTU.
func up(s fabric.Status) (n int) {
	for _, p := range s.Peers {
		for _, r := range p.Rails {
			if r.State == "up" && r.MTU == min(r.LocalMTU, r.PeerMTU) {
				n++
			}
		}
	}
	return n
}
