// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/google/uuid"
)

// ErrClosed is returned by what needs a lab that is still up.
var ErrClosed = errors.New("lab: closed")

// Lab is a built topology. Its methods may be called from any goroutine.
type Lab struct {
	name  string
	id    string
	mode  Mode
	topo  Topology
	nodes []*Node
	plant plant

	mu     sync.Mutex
	links  []*link // the slice is fixed, what it points to is guarded
	closed bool
}

// plant is what hosts and rails are made of: namespaces or memory. Its methods
// are called with the lab's mutex held.
type plant interface {
	build(ctx context.Context, l *Lab) error
	carrier(k *link, up bool) error
	// apply puts the states of links, which are all of one group or one of
	// them, into force; k.states hold the new ones.
	apply(l *Lab, links []*link) error
	// stall holds back what comes from one side of a link for d from now.
	stall(k *link, side int, d Time)
	counts(k *link) [2]Counts
	notes() []string
	reap() error // ends processes in the hosts
	close() error
}

// config is what New leaves to its defaults.
type config struct {
	name     string // "" for a lab of this process alone
	id       string // "" for a new one
	stateDir string // kept visible in hosts, "" for none
}

// New builds a topology in this process. ModeUserNamespace needs a process
// that Enter started. Who calls New calls Close, after closing the rails it
// opened. ctx can stop the building only.
func New(ctx context.Context, t Topology, mode Mode) (*Lab, error) {
	return newLab(ctx, t, mode, config{})
}

func newLab(ctx context.Context, t Topology, mode Mode, c config) (*Lab, error) {
	t = t.withDefaults()
	if err := t.Validate(); err != nil {
		return nil, err
	}
	if err := checkMode(mode); err != nil {
		return nil, err
	}
	if c.id == "" {
		var err error
		if c.id, err = newID(); err != nil {
			return nil, err
		}
	}
	l := &Lab{name: c.name, id: c.id, mode: mode, topo: t}
	l.plan()
	l.plant = newNetPlant(c)
	if mode == ModeMemory {
		l.plant = newMemPlant()
	}
	if err := l.plant.build(ctx, l); err != nil {
		return nil, errors.Join(fmt.Errorf("lab: %w", err), l.Close())
	}
	return l, nil
}

// newID gives what no other lab is called.
func newID() (string, error) {
	id, err := uuid.NewRandom()
	if err != nil {
		return "", fmt.Errorf("lab id: %w", err)
	}
	return id.String(), nil
}

// checkMode says what to do where a mode cannot be built here.
func checkMode(mode Mode) error {
	if err := checkMain(); err != nil {
		return err
	}
	if mode == ModeMemory {
		return nil
	}
	s := Detect().Get(mode)
	switch {
	case !s.OK:
		return fmt.Errorf("%w: %s: %s", ErrMode, mode, s.Why)
	case s.Enter:
		return fmt.Errorf("%w: %s: this process is outside of it; start it with lab.Enter", ErrMode, mode)
	}
	return nil
}

// Name is the name of a served lab, "" for one of this process alone.
func (l *Lab) Name() string { return l.name }

// Mode tells how the lab is built.
func (l *Lab) Mode() Mode { return l.mode }

// Topology gives the complete topology that was built; faults do not change it.
func (l *Lab) Topology() Topology { return l.topo.clone() }

// Host gives a host by name. An unknown name is a mistake in the program, and
// panics; see Find.
func (l *Lab) Host(name string) *Node {
	n, err := l.Find(name)
	if err != nil {
		panic(err)
	}
	return n
}

// Find gives a host by name, or an error that lists the names there are.
func (l *Lab) Find(name string) (*Node, error) {
	var names []string
	for _, n := range l.nodes {
		if n.name == name {
			return n, nil
		}
		names = append(names, n.name)
	}
	return nil, fmt.Errorf("lab: no host %q; hosts are %q", name, names)
}

// Hosts gives all hosts, in the topology's order.
func (l *Lab) Hosts() []*Node { return append([]*Node(nil), l.nodes...) }

// Notes are what could not be had and is not needed to go on, one line each.
func (l *Lab) Notes() []string { return l.plant.notes() }

// reap ends the processes that run in the hosts.
func (l *Lab) reap() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	return l.plant.reap()
}

// Close ends the processes that still run in the lab's namespaces and undoes
// everything. It is idempotent. Rails that were opened must be closed first.
func (l *Lab) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	return l.plant.close()
}
