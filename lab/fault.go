// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"fmt"
)

// Unplug takes the carrier from both ends of a cable, of a segment (all its
// ports), or of one rail ("cable1.0", "segment1.a"). What has not arrived by
// then is lost, unless it is plugged in again before. Unplugging what is unplugged changes nothing.
func (l *Lab) Unplug(target string) error { return l.carrier(target, false) }

// Plug undoes Unplug.
func (l *Lab) Plug(target string) error { return l.carrier(target, true) }

func (l *Lab) carrier(target string, up bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	links, err := l.find(target)
	if err != nil {
		return err
	}
	var errs []error
	for _, k := range links {
		if k.up == up {
			continue
		}
		if err := l.plant.carrier(k, up); err != nil {
			errs = append(errs, fmt.Errorf("lab: rail %s: %w", k.name, err))
			continue
		}
		k.up = up
	}
	return errors.Join(errs...)
}

// Set changes a cable, segment or rail, named as for Unplug. Either all of the
// change is in force afterwards or, on an error, none of it.
func (l *Lab) Set(target string, ch Change) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	links, err := l.find(target)
	if err != nil {
		return err
	}
	if err := l.check(target, links, ch); err != nil {
		return fmt.Errorf("lab: %s: %w", target, err)
	}
	before := make([][2]state, len(links))
	for i, k := range links {
		before[i] = k.states
		for side := range k.states {
			if ch.From == "" || k.comesFrom(side, ch.From) {
				k.states[side] = ch.apply(k.states[side])
			}
		}
	}
	if err = l.plant.apply(l, links); err == nil {
		l.stall(links, ch)
		return nil
	}
	for i, k := range links {
		k.states = before[i]
	}
	return errors.Join(fmt.Errorf("lab: %s: %w", target, err), l.plant.apply(l, links))
}

// stall holds back the directions that a change is for.
func (l *Lab) stall(links []*link, ch Change) {
	if ch.Stall == nil {
		return
	}
	for _, k := range links {
		for side := range k.states {
			if ch.From == "" || k.comesFrom(side, ch.From) {
				l.plant.stall(k, side, *ch.Stall)
			}
		}
	}
}

// comesFrom reports whether frames of a direction come from a host; those from
// a switch to a host do not.
func (k *link) comesFrom(side int, host string) bool {
	return k.ends[side].node != nil && k.ends[side].node.name == host
}

func (l *Lab) check(target string, links []*link, ch Change) error {
	if ch.empty() {
		return errors.New("nothing to change is named")
	}
	v := validator{}
	v.checkLink("change", ch.apply(state{}).Link)
	if ch.Stall != nil && (*ch.Stall < 0 || *ch.Stall > timeMost) {
		v.fail("change: stall is %s, 0 to %s are allowed", ch.Stall.Duration(), timeMost)
	}
	if len(v.errs) > 0 {
		return errors.Join(v.errs...)
	}
	if ch.Rate != nil && links[0].cable && target != links[0].group {
		return fmt.Errorf("a rate is shared by a cable's rails; set it for %s", links[0].group)
	}
	from := ch.From == ""
	for _, k := range links {
		from = from || k.comesFrom(0, ch.From) || k.comesFrom(1, ch.From)
		if err := k.checkModel(ch); err != nil {
			return err
		}
	}
	if !from {
		return fmt.Errorf("from=%s: no such host at its ends", ch.From)
	}
	return nil
}

func (k *link) checkModel(ch Change) error {
	key := ch.onlyRelay()
	if key == "" && k.model == Direct {
		key = "rate"
	}
	if key == "" || k.model == Relay {
		return nil
	}
	return fmt.Errorf("model %q cannot apply %s; build it with model %q", k.model, key, Relay)
}

// find gives the links of a cable or segment, or the one link of that name.
func (l *Lab) find(target string) ([]*link, error) {
	if l.closed {
		return nil, ErrClosed
	}
	var found []*link
	var groups []string
	for _, k := range l.links {
		if k.group == target || k.name == target {
			found = append(found, k)
		}
		if len(groups) == 0 || groups[len(groups)-1] != k.group {
			groups = append(groups, k.group)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("lab: no cable, segment or rail %q; there are %q, rail n of a cable is NAME.n, a host's port of a segment NAME.HOST", target, groups)
	}
	return found, nil
}
