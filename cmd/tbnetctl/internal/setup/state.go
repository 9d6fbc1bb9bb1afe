// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Ways in which the daemon is kept running.
const (
	BySystemd    = "systemd"
	InBackground = "background"
)

// State is what `down` must know of `up`. It lives beside the daemon's socket,
// in a folder that a reboot empties, as a reboot undoes the changes, too.
type State struct {
	SchemaVersion int      `json:"schema_version"`
	Service       string   `json:"service"`
	Config        string   `json:"config"`
	Changes       []Change `json:"changes"`
}

// stateVersion of State.
const stateVersion = 1

// StatePath is where the state of the daemon on a socket is.
func StatePath(socket string) string { return socket + ".up" }

// SaveState writes s for the daemon on socket. Changes of an earlier `up` are
// kept: what a device was before the first one is what `down` must restore.
func SaveState(socket string, s State) error {
	s.SchemaVersion = stateVersion
	if old, err := LoadState(socket); err == nil {
		s.Changes = merge(old.Changes, s.Changes)
	}
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(socket), 0o755); err != nil {
		return err
	}
	tmp := StatePath(socket) + ".new"
	if err := os.WriteFile(tmp, append(data, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, StatePath(socket))
}

func merge(old, changes []Change) []Change {
	out := append([]Change{}, old...)
	for _, c := range changes {
		known := false
		for i := range out {
			if out[i].Device == c.Device {
				out[i].MTU, known = c.MTU, true
			}
		}
		if !known {
			out = append(out, c)
		}
	}
	return out
}

// LoadState reads the state; without one it is an error that wraps
// fs.ErrNotExist.
func LoadState(socket string) (State, error) {
	data, err := os.ReadFile(StatePath(socket))
	if err != nil {
		return State{}, err
	}
	var s State
	if err := json.Unmarshal(data, &s); err != nil {
		return State{}, fmt.Errorf("%s makes no sense (remove it): %w", StatePath(socket), err)
	}
	if s.SchemaVersion != stateVersion {
		return State{}, fmt.Errorf("%s is of version %d, this program's is %d: use the tbnetctl that wrote it", StatePath(socket), s.SchemaVersion, stateVersion)
	}
	return s, nil
}

// RemoveState forgets the state; without one it is no error.
func RemoveState(socket string) error {
	err := os.Remove(StatePath(socket))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
