// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// hostNS are the namespaces of one host: network, mounts (its own /sys, and
// its own run directory for a daemon's sockets), and host name.
type hostNS struct {
	net *NetNS
	mnt *os.File
	uts *os.File
	// note says what could not be had and is not needed to go on, or "".
	note string
}

// runDir is where daemons keep their sockets and the lab its state; a host has
// a run directory of its own, in which the lab's state is visible.
const runDir = "/run/tbnet2"

// newHostNS makes the namespaces of the host called name. stateDir is kept
// visible in it where it is not "".
func newHostNS(name, stateDir string) (*hostNS, error) {
	h := &hostNS{}
	err := onThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET | unix.CLONE_NEWNS | unix.CLONE_NEWUTS); err != nil {
			return fmt.Errorf("make namespaces: %w", err)
		}
		if err := unix.Sethostname([]byte(name)); err != nil {
			return fmt.Errorf("set host name: %w", err)
		}
		if err := h.mount(name, stateDir); err != nil {
			return err
		}
		if err := loopbackUp(); err != nil {
			return err
		}
		return h.take()
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("host %s: %w", name, err), h.close())
	}
	return h, nil
}

func (h *hostNS) take() (err error) {
	if h.net, err = takeNetNS(); err != nil {
		return err
	}
	if h.mnt, err = openNS("mnt"); err != nil {
		return err
	}
	h.uts, err = openNS("uts")
	return err
}

// mount readies the calling thread's new mount namespace. Mounts made or
// dropped outside show up here, and none from here outside.
func (h *hostNS) mount(name, stateDir string) error {
	if err := unix.Mount("", "/", "", unix.MS_SLAVE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("take mounts for itself: %w", err)
	}
	dropNamed()
	const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	if err := unix.Mount("sysfs", "/sys", "sysfs", flags, ""); err != nil {
		h.note = fmt.Sprintf("/sys in hosts shows the devices outside: %v", err)
	}
	if err := mountRun(stateDir); err != nil {
		return err
	}
	return h.mountMachineID(name)
}

// mountMachineID gives the host a machine-id of its own: two hosts with one
// would be one host to their daemons.
func (h *hostNS) mountMachineID(name string) error {
	const machineID = "/etc/machine-id"
	if _, err := os.Stat(machineID); err != nil {
		h.note = "hosts have no machine-id; give each daemon a UUID of its own"
		return nil
	}
	own := filepath.Join(runDir, "machine-id")
	id := strings.ReplaceAll(hostUUID(name).String(), "-", "")
	if err := os.WriteFile(own, []byte(id+"\n"), 0o444); err != nil {
		return fmt.Errorf("machine-id: %w", err)
	}
	if err := unix.Mount(own, machineID, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("machine-id: %w", err)
	}
	if err := os.Remove(own); err != nil { // the mount keeps it
		return fmt.Errorf("machine-id: %w", err)
	}
	return nil
}

// mountRun covers the run directory with an empty one. A user cannot make
// /run/tbnet2, so there all of /run is covered.
func mountRun(stateDir string) error {
	cover := "/run"
	if !inUserNamespace() {
		cover = runDir
		if err := os.MkdirAll(cover, 0o755); err != nil {
			return fmt.Errorf("make run directory: %w", err)
		}
	}
	var state *os.File
	if stateDir != "" {
		var err error
		if state, err = os.Open(stateDir); err != nil {
			return fmt.Errorf("open the labs' directory: %w", err)
		}
		defer state.Close()
	}
	if err := unix.Mount("tbnet2", cover, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755"); err != nil {
		return fmt.Errorf("cover %s: %w", cover, err)
	}
	if err := os.MkdirAll(runDir, 0o755); err != nil {
		return fmt.Errorf("make run directory: %w", err)
	}
	if state == nil || !beneath(cover, stateDir) {
		return nil
	}
	if err := os.MkdirAll(stateDir, 0o755); err != nil {
		return fmt.Errorf("make the labs' directory: %w", err)
	}
	from := fmt.Sprintf("/proc/self/fd/%d", state.Fd())
	if err := unix.Mount(from, stateDir, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("show the labs' directory: %w", err)
	}
	return nil
}

func beneath(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// dropNamed unmounts, in this mount namespace only, the named network
// namespaces of `ip netns`: a copy of such a mount would keep alive what its
// owner deletes.
func dropNamed() {
	entries, err := os.ReadDir(namedDir)
	if err != nil {
		return
	}
	for _, e := range entries {
		_ = unix.Unmount(filepath.Join(namedDir, e.Name()), unix.MNT_DETACH) // no mount: EINVAL
	}
}

func (h *hostNS) close() error {
	var errs []error
	if h.net != nil {
		errs = append(errs, h.net.close())
	}
	for _, f := range []**os.File{&h.mnt, &h.uts} {
		if *f != nil {
			errs = append(errs, (*f).Close())
			*f = nil
		}
	}
	return errors.Join(errs...)
}
