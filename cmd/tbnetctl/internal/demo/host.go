// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tbnet2/tbnet2/fabric"
	"github.com/tbnet2/tbnet2/lab"
	"github.com/tbnet2/tbnet2/userstack"
)

// endpoint is the speaker that each host has.
const endpoint = 1

// host is one machine of the demo: a fabric over its rails, a TCP/IP stack.
type host struct {
	fabric *fabric.Fabric
	stack  *userstack.Stack
}

func newHost(n *lab.Node) (h *host, err error) {
	h = &host{}
	defer func() {
		if err != nil {
			_ = h.close()
		}
	}()
	h.fabric, err = fabric.New(fabric.Config{Host: n.UUID(), HostName: n.Name(), Endpoint: endpoint, Retransmit: true})
	if err != nil {
		return nil, err
	}
	devs, err := n.OpenRailsFor(endpoint)
	if err != nil {
		return nil, err
	}
	for i, d := range devs {
		if err := h.fabric.AddRail(d, fabric.RailOptions{Name: fmt.Sprintf("rail%d", i)}); err != nil {
			for _, rest := range devs[i:] {
				err = errors.Join(err, rest.Close())
			}
			return nil, err
		}
	}
	h.stack, err = userstack.New(h.fabric.Port(), userstack.Config{Host: n.UUID()})
	return h, err
}

func (h *host) close() error {
	var errs []error
	if h.stack != nil {
		errs = append(errs, h.stack.Close())
	}
	if h.fabric != nil {
		errs = append(errs, h.fabric.Close())
	}
	return errors.Join(errs...)
}

// peer gives the status of the one peer, if it is there.
func (h *host) peer() (fabric.PeerStatus, bool) {
	for _, p := range h.fabric.Status().Peers {
		return p, true
	}
	return fabric.PeerStatus{}, false
}

// upTimeout is how long rails may take to come up.
const upTimeout = 10 * time.Second

// ready waits until n rails are up.
func (h *host) ready(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeout(ctx, upTimeout)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		up := 0
		if p, ok := h.peer(); ok {
			for _, r := range p.Rails {
				if r.State == "up" && r.MTU == min(r.LocalMTU, r.PeerMTU) {
					up++
				}
			}
		}
		if up == n {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%d of %d rails came up within %v", up, n, upTimeout)
		}
	}
}
