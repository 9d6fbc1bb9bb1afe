// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/tbnet2/tbnet2/fabric"
	"github.com/tbnet2/tbnet2/rail"
	"github.com/tbnet2/tbnet2/rail/mem"
	"github.com/tbnet2/tbnet2/rail/model"
	"github.com/tbnet2/tbnet2/test/rig"
)

// The honest rails are slow enough to leave the processor to the attacker: what
// is measured is whether it takes more than that.
const (
	honestRails = 2
	honestRate  = 100_000_000 // bits per second of each
	honestMTU   = 9000
)

// scene is a victim with an honest peer on rails of their own, and a segment
// that the attacker is on.
type scene struct {
	victim, honest *fabric.Fabric
	rails          []*mem.Link
	hostile        *mem.Link
	deaf           *mem.Link // a segment like the hostile one, on which nobody looks at what comes
	drain          sync.WaitGroup
	attacker       *attacker
	flow           *flow
}

func named(name string) uuid.UUID { return uuid.NewSHA1(uuid.NameSpaceDNS, []byte(name)) }

func openScene(ctx context.Context, kind attack, seed uint64) (*scene, error) {
	s := &scene{}
	if err := s.open(ctx, kind, seed); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *scene) open(ctx context.Context, kind attack, seed uint64) (err error) {
	t := &tape{}
	if s.victim, err = fabric.New(fabric.Config{Host: named("victim"), HostName: "victim", Endpoint: 1, Retransmit: true}); err != nil {
		return err
	}
	if s.honest, err = fabric.New(fabric.Config{Host: named("honest"), HostName: "honest", Endpoint: 1, Retransmit: true}); err != nil {
		return err
	}
	in, err := s.victim.PortTo(named("honest").String())
	if err != nil {
		return err
	}
	for i := range honestRails {
		if err := s.addRail(i, t); err != nil {
			return err
		}
	}
	if err := s.addSegment(); err != nil {
		return err
	}
	if err := rig.Within(ctx, 10*time.Second, "honest rails up", func() bool { return s.up() == honestRails }); err != nil {
		return err
	}
	s.attacker = newAttacker(s.hostile.B(), named("victim"), s.hostile.A().Info().MAC, t, kind.liars, seed)
	s.flow = startFlow(s.honest.Port(), in)
	return nil
}

func (s *scene) addRail(i int, t *tape) error {
	p := model.Params{Rate: honestRate, Delay: 20 * time.Microsecond}
	l, err := mem.New(mem.Config{Name: fmt.Sprintf("rail%d", i), MTU: honestMTU, Seed: uint64(i + 1), Group: uint64(i + 1), Params: p, TxRing: 256 << 10})
	if err != nil {
		return err
	}
	s.rails = append(s.rails, l)
	t.honest = l.B().Info().MAC
	return errors.Join(s.victim.AddRail(recorder{l.A(), t}, fabric.RailOptions{Name: fmt.Sprintf("rail%d", i)}),
		s.honest.AddRail(l.B(), fabric.RailOptions{Name: fmt.Sprintf("rail%d", i)}))
}

// addSegment adds the rail that the attacker has the other end of: no rate, so
// it sends as fast as it can.
func (s *scene) addSegment() (err error) {
	s.hostile, err = mem.New(mem.Config{Name: "segment", MTU: honestMTU + macLen, Seed: 99, Group: 99})
	if err != nil {
		return err
	}
	if s.deaf, err = mem.New(mem.Config{Name: "deaf", MTU: honestMTU + macLen, Seed: 98, Group: 98}); err != nil {
		return err
	}
	s.drain.Go(func() {
		frames := make([]rail.RxFrame, 64)
		for {
			if _, err := s.deaf.A().Recv(frames); err != nil {
				return // closed
			}
			runtime.Gosched() // as a fabric does
		}
	})
	return s.victim.AddRail(segment{s.hostile.A()}, fabric.RailOptions{Name: "segment"})
}

// up counts the honest host's rails.
func (s *scene) up() (n int) {
	for _, p := range s.honest.Status().Peers {
		for _, r := range p.Rails {
			if r.State == "up" && r.MTU == honestMTU {
				n++
			}
		}
	}
	return n
}

// quiet ends the attack and the honest host, so that the victim's counters come
// to rest.
func (s *scene) quiet() (err error) {
	s.flow.stop()
	err = errors.Join(s.attacker.close(), s.honest.Close())
	s.flow.done.Wait()
	return err
}

func (s *scene) close() error {
	var errs []error
	for _, f := range []*fabric.Fabric{s.honest, s.victim} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	if s.deaf != nil {
		errs = append(errs, s.deaf.A().Close(), s.deaf.B().Close())
		s.drain.Wait()
	}
	return errors.Join(errs...)
}
