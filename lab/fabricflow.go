// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/tbnet2/tbnet2/fabric"
	"github.com/tbnet2/tbnet2/userstack"
	"github.com/tbnet2/tbnet2/wire"
)

// peerPatience is how long two hosts of a flow may take to find each other.
const peerPatience = 10 * time.Second

// verifyPort is where the receiver listens.
const verifyPort = 9

// speaker is a host's end of a flow: a fabric over its rails and a TCP on top.
type speaker struct {
	node   *Node
	claim  *fabric.Claim // nil in memory
	fabric *fabric.Fabric
	stack  *userstack.Stack
}

// fabricFlow makes a TCP connection of two userspace stacks over a fabric on
// the hosts' rails, or on those of one cable. The fabrics speak the test
// service, so that a daemon on the same rails is none of their business.
func (l *Lab) fabricFlow(ctx context.Context, from, to *Node, only string) (f flow, err error) {
	if _, _, err := commonRail(from, to, only); err != nil {
		return f, err
	}
	var a, b speaker
	f.done = func() error { return errors.Join(a.close(), b.close()) }
	defer func() {
		if err != nil {
			err = errors.Join(err, f.done())
		}
	}()
	for _, s := range []struct {
		s *speaker
		n *Node
	}{{&a, from}, {&b, to}} {
		if err := s.s.open(s.n, only); err != nil {
			return f, fmt.Errorf("host %s: %w", s.n.name, err)
		}
	}
	if err := errors.Join(a.await(ctx, to), b.await(ctx, from)); err != nil {
		return f, err
	}
	err = f.join(ctx, &a, &b)
	return f, err
}

// join connects a to b.
func (f *flow) join(ctx context.Context, a, b *speaker) error {
	at := netip.AddrPortFrom(userstack.LinkLocal4(b.node.UUID()), verifyPort).String()
	ln, err := b.stack.Listen("tcp4", at)
	if err != nil {
		return err
	}
	defer ln.Close()
	type accepted struct {
		conn net.Conn
		err  error
	}
	came := make(chan accepted, 1)
	go func() {
		c, err := ln.Accept()
		came <- accepted{c, err}
	}()
	f.client, err = a.stack.DialContext(ctx, "tcp4", at)
	if err != nil {
		_ = ln.Close()
		if c := <-came; c.conn != nil {
			_ = c.conn.Close()
		}
		return err
	}
	c := <-came
	if c.err != nil {
		return errors.Join(c.err, f.client.Close())
	}
	f.server = c.conn
	return nil
}

// open readies a host's end; close undoes what a failure leaves.
func (s *speaker) open(n *Node, only string) (err error) {
	s.node = n
	endpoint := uint8(1)
	if n.ns != nil {
		err := n.Do(func() (err error) {
			s.claim, err = fabric.ClaimEndpoint(0)
			return err
		})
		if err != nil {
			return err
		}
		endpoint = s.claim.Endpoint
	}
	s.fabric, err = fabric.New(fabric.Config{
		Host: n.UUID(), HostName: n.name, Endpoint: endpoint, Service: wire.ServiceTest, Retransmit: true,
	})
	if err != nil {
		return err
	}
	if err := s.addRails(only, endpoint); err != nil {
		return err
	}
	s.stack, err = userstack.New(s.fabric.Port(), userstack.Config{Host: n.UUID()})
	return err
}

func (s *speaker) addRails(only string, endpoint uint8) error {
	for _, e := range s.node.ends {
		if only != "" && only != e.link.name && only != e.link.group {
			continue
		}
		dev, err := s.node.OpenRail(e.dev, endpoint)
		if err != nil {
			return err
		}
		if err := s.fabric.AddRail(dev, fabric.RailOptions{}); err != nil {
			return errors.Join(err, dev.Close())
		}
	}
	return nil
}

// await waits until the other host is reached over some rail.
func (s *speaker) await(ctx context.Context, other *Node) error {
	events, cancel := s.fabric.Subscribe()
	defer cancel()
	timer := time.NewTimer(peerPatience)
	defer timer.Stop()
	for {
		if slices.ContainsFunc(s.fabric.Status().Peers, func(p fabric.PeerStatus) bool {
			return p.Host == other.UUID().String() && p.Up
		}) {
			return nil
		}
		select {
		case <-events:
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
			return fmt.Errorf("host %s: hears nothing of %s within %s; is every cable between them unplugged?", s.node.name, other.name, peerPatience)
		}
	}
}

func (s *speaker) close() error {
	var errs []error
	if s.stack != nil {
		errs = append(errs, s.stack.Close())
	}
	if s.fabric != nil {
		errs = append(errs, s.fabric.Close())
	}
	if s.claim != nil {
		errs = append(errs, s.claim.Close())
	}
	return errors.Join(errs...)
}
