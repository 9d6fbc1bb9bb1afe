// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// How long processes of a lab that goes down have to end by themselves, and to
// be gone after they were killed.
const (
	reapGrace = 500 * time.Millisecond
	reapKill  = 2 * time.Second
)

// belongs reports whether a process, as its folder in /proc, is a lab's: it is
// in one of its network namespaces, or carries its mark.
type belongs func(proc string) bool

// inNamespaces matches processes by network namespace. The namespaces must be
// held while it is used, or their numbers could be another's by now.
func inNamespaces(inodes map[uint64]bool) belongs {
	return func(proc string) bool {
		var st unix.Stat_t
		return unix.Stat(filepath.Join(proc, "ns", "net"), &st) == nil && inodes[st.Ino]
	}
}

// marked matches processes by the lab's id in their environment.
func marked(id string) belongs {
	want := []byte(idVar + "=" + id)
	return func(proc string) bool {
		env, err := os.ReadFile(filepath.Join(proc, "environ"))
		if err != nil {
			return false
		}
		for _, v := range bytes.Split(env, []byte{0}) {
			if bytes.Equal(v, want) {
				return true
			}
		}
		return false
	}
}

// reap ends every process that matches, but never this one, with SIGTERM and
// then SIGKILL, and waits until they are gone. It looks again until none is
// left, since they may have children.
func reap(match ...belongs) error {
	for _, step := range []struct {
		sig  unix.Signal
		wait time.Duration
	}{{unix.SIGTERM, reapGrace}, {unix.SIGKILL, reapKill}, {unix.SIGKILL, reapKill}} {
		fds := openMatching(match)
		if len(fds) == 0 {
			return nil
		}
		for _, fd := range fds {
			_ = unix.PidfdSendSignal(int(fd.Fd), step.sig, nil, 0) // gone already: as wished
		}
		awaitAll(fds, step.wait)
		for _, fd := range fds {
			_ = unix.Close(int(fd.Fd))
		}
	}
	if n := len(openMatching(match)); n > 0 {
		return fmt.Errorf("%d processes in the lab's namespaces do not end", n)
	}
	return nil
}

// openMatching gives a pidfd of each matching process. Whether it matches is
// read again once the pidfd is open, so that a reused pid is not hit.
func openMatching(match []belongs) []unix.PollFd {
	var fds []unix.PollFd
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() || !anyMatch(match, pid) {
			continue
		}
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue
		}
		if anyMatch(match, pid) {
			fds = append(fds, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
		} else {
			_ = unix.Close(fd)
		}
	}
	return fds
}

func anyMatch(match []belongs, pid int) bool {
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	if dead(proc) {
		return false
	}
	for _, m := range match {
		if m(proc) {
			return true
		}
	}
	return false
}

// dead reports whether a process has ended and only waits for its parent.
func dead(proc string) bool {
	stat, err := os.ReadFile(filepath.Join(proc, "stat"))
	_, after, ok := strings.Cut(string(stat), ") ")
	return err != nil || !ok || strings.HasPrefix(after, "Z") || strings.HasPrefix(after, "X")
}

// awaitAll waits until all processes have ended, at most for d.
func awaitAll(fds []unix.PollFd, d time.Duration) {
	deadline := time.Now().Add(d)
	waiting := append([]unix.PollFd(nil), fds...)
	for len(waiting) > 0 {
		left := time.Until(deadline)
		if left <= 0 {
			return
		}
		if _, err := unix.Poll(waiting, int(left.Milliseconds())+1); err != nil && err != unix.EINTR {
			return
		}
		still := waiting[:0]
		for _, fd := range waiting {
			if fd.Revents == 0 {
				still = append(still, fd)
			}
		}
		waiting = still
	}
}
