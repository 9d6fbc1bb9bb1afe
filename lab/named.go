// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// namedDir is where `ip netns` looks for namespaces.
const namedDir = "/run/netns"

// netnsName is a host's name for `ip netns exec`.
func netnsName(lab, host string) string { return "tbnet2-" + lab + "-" + host }

// nameNetNS makes ns appear in `ip netns`. A name left over from a lab that
// is gone is an error: Down removes it.
func nameNetNS(ns *NetNS, name string) error {
	if err := os.MkdirAll(namedDir, 0o755); err != nil {
		return fmt.Errorf("name network namespace: %w", err)
	}
	path := filepath.Join(namedDir, name)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDONLY, 0o444)
	if err != nil {
		return fmt.Errorf("name network namespace: %w", err)
	}
	if err := f.Close(); err != nil {
		return err
	}
	from := fmt.Sprintf("/proc/self/fd/%d", ns.Fd())
	if err := unix.Mount(from, path, "", unix.MS_BIND, ""); err != nil {
		return errors.Join(fmt.Errorf("name network namespace %s: %w", name, err), os.Remove(path))
	}
	return nil
}

// unnameNetNS undoes nameNetNS, also of another process; a name that is not
// there is no error.
func unnameNetNS(name string) error {
	path := filepath.Join(namedDir, name)
	err := unix.Unmount(path, unix.MNT_DETACH)
	if err != nil && err != unix.EINVAL && err != unix.ENOENT {
		return fmt.Errorf("remove network namespace %s: %w", name, err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove network namespace %s: %w", name, err)
	}
	return nil
}

// namedInode gives the inode of a named namespace, 0 where there is none.
func namedInode(name string) uint64 {
	var st unix.Stat_t
	var fsst unix.Statfs_t
	path := filepath.Join(namedDir, name)
	if unix.Stat(path, &st) != nil || unix.Statfs(path, &fsst) != nil || fsst.Type != unix.NSFS_MAGIC {
		return 0
	}
	return st.Ino
}
