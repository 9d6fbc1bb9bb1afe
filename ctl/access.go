// SPDX-License-Identifier: Apache-2.0

package ctl

import (
	"fmt"
	"net"
	"os"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Caller is who is at the other end of the socket, by the kernel's word.
type Caller struct {
	UID, GID uint32
	PID      int32
	Groups   []uint32
}

// Access says who may change something. Everyone who can open the socket may
// read.
type Access struct {
	UID uint32 // of the daemon
	GID uint32 // the group that may change things
	// Anyone-with-this-group holds only where HasGID is set.
	HasGID bool
}

// mayChange applies the rule: root, the daemon's own user, or its group.
func (a Access) mayChange(c Caller) bool {
	if c.UID == 0 || c.UID == a.UID {
		return true
	}
	return a.HasGID && (c.GID == a.GID || slices.Contains(c.Groups, a.GID))
}

// callerOf asks the kernel who connected.
func callerOf(conn *net.UnixConn) (Caller, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return Caller{}, err
	}
	var c Caller
	var inner error
	err = raw.Control(func(fd uintptr) {
		var cred *unix.Ucred
		if cred, inner = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); inner != nil {
			return
		}
		c = Caller{UID: cred.Uid, GID: cred.Gid, PID: cred.Pid}
		c.Groups, inner = peerGroups(fd)
	})
	if err == nil {
		err = inner
	}
	if err != nil {
		return Caller{}, fmt.Errorf("read the caller's credentials: %w", err)
	}
	return c, nil
}

// peerGroups reads SO_PEERGROUPS, the caller's supplementary groups.
func peerGroups(fd uintptr) ([]uint32, error) {
	groups := make([]uint32, 64)
	for {
		size := uint32(len(groups) * 4)
		_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, fd, unix.SOL_SOCKET, unix.SO_PEERGROUPS,
			uintptr(unsafe.Pointer(&groups[0])), uintptr(unsafe.Pointer(&size)), 0)
		switch errno {
		case 0:
			return groups[:size/4], nil
		case unix.ERANGE:
			groups = make([]uint32, size/4) // the kernel has told how many there are
		default:
			return nil, errno
		}
	}
}

// ListenSocket makes the daemon's socket at path, which everyone may open: who
// may do what is decided by Access. A socket nobody listens on any more is
// replaced; one with a daemon behind it is an error.
func ListenSocket(path string) (*net.UnixListener, error) {
	if conn, err := net.Dial("unix", path); err == nil {
		_ = conn.Close()
		return nil, Errorf(CodeBusy, "another daemon listens on %s: stop it first, or give --socket another path", path)
	}
	if err := removeSocket(path); err != nil {
		return nil, err
	}
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		_ = ln.Close()
		return nil, err
	}
	return ln, nil
}

// removeSocket removes a left-over socket, and nothing that is not one.
func removeSocket(path string) error {
	info, err := os.Lstat(path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&os.ModeSocket == 0 {
		return Errorf(CodeInvalid, "%s is there and is no socket: remove it, or give --socket another path", path)
	}
	return os.Remove(path)
}
