// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// Marks in the environment of every command in a lab. The id is how processes
// of a lab are found when it goes.
const (
	labVar  = "TBNET2_LAB"      // the lab's name
	hostVar = "TBNET2_LAB_HOST" // the host's name
	idVar   = "TBNET2_LAB_ID"   // the lab's id
)

// Descriptors of a command's namespaces.
const (
	fdNet = 3 + iota
	fdMnt
	fdUTS
)

// ErrNoCommand is returned in memory mode, where hosts have no namespaces.
var ErrNoCommand = errors.New("hosts in memory cannot run commands; use a lab in namespaces (see lab.Detect)")

// Command prepares a command in the node's network, mount and host name
// namespaces, as exec.CommandContext does. Its Path and Args must not be
// changed. Output pipes, Dir and Env may be set; Env is the caller's own plus
// the lab's marks. A program that cannot be run gives exit code 127 or 126, as
// in a shell. The program calling it must call Main first.
func (n *Node) Command(ctx context.Context, name string, args ...string) (*exec.Cmd, error) {
	if n.ns == nil {
		return nil, fmt.Errorf("host %s: %w", n.name, ErrNoCommand)
	}
	cmd := exec.CommandContext(ctx, "/proc/self/exe", append([]string{name}, args...)...)
	cmd.Args[0] = "tbnet2-lab-exec"
	cmd.Env = append(os.Environ(), n.marks()...)
	cmd.ExtraFiles = []*os.File{n.ns.net.file, n.ns.mnt, n.ns.uts}
	return cmd, nil
}

// marks are what a command's environment must have.
func (n *Node) marks() []string {
	return []string{
		entryVar + "=" + entryExec,
		labVar + "=" + n.lab.name,
		hostVar + "=" + n.name,
		idVar + "=" + n.lab.id,
	}
}

// becomeCommand enters the namespaces it was given and replaces this process
// by the command in its arguments. It returns only the exit code of a failure.
func becomeCommand() int {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "lab exec: no command")
		return 126
	}
	dir, err := os.Getwd()
	if err != nil {
		dir = "/"
	}
	runtime.LockOSThread() // exec replaces the process by this thread, with its namespaces
	if err := enterFds(dir); err != nil {
		fmt.Fprintf(os.Stderr, "lab exec: %v\n", err)
		return 126
	}
	path, err := exec.LookPath(os.Args[1])
	if err != nil {
		fmt.Fprintf(os.Stderr, "lab exec: %v\n", err)
		if errors.Is(err, fs.ErrPermission) {
			return 126
		}
		return 127
	}
	err = unix.Exec(path, os.Args[1:], os.Environ())
	fmt.Fprintf(os.Stderr, "lab exec: %s: %v\n", path, err)
	return 126
}

// enterFds enters the namespaces, mounts last: they take the working directory
// with them.
func enterFds(dir string) error {
	for _, ns := range []struct{ fd, kind int }{
		{fdNet, unix.CLONE_NEWNET}, {fdUTS, unix.CLONE_NEWUTS}, {fdMnt, unix.CLONE_NEWNS},
	} {
		unix.CloseOnExec(ns.fd)
		if ns.kind == unix.CLONE_NEWNS {
			if err := unix.Unshare(unix.CLONE_FS); err != nil {
				return fmt.Errorf("take a working directory of its own: %w", err)
			}
		}
		if err := unix.Setns(ns.fd, ns.kind); err != nil {
			return fmt.Errorf("enter the host's namespaces: %w", err)
		}
	}
	if err := unix.Chdir(dir); err != nil {
		return fmt.Errorf("working directory %s: %w", dir, err)
	}
	return nil
}
