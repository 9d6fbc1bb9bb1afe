// SPDX-License-Identifier: Apache-2.0

package netnstest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// entered marks a process that runs in a user namespace of Enter's making.
const entered = "TBNET2_NETNSTEST_ENTERED"

// Enter is called first in TestMain. Where the process may not make network
// namespaces, it runs the test binary again as root of a user namespace of its
// own, and ends with that one's exit code. Where that is not allowed either,
// it returns, and New skips.
func Enter() {
	if mayUnshare() || os.Getenv(entered) != "" {
		return
	}
	if code, err := again(); err == nil {
		os.Exit(code)
	} else {
		fmt.Fprintf(os.Stderr, "netnstest: no user namespace: %v\n", err)
	}
}

// mayUnshare reports whether the process has CAP_SYS_ADMIN.
func mayUnshare() bool {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&hdr, &data[0]); err != nil {
		return false
	}
	return data[0].Effective&(1<<unix.CAP_SYS_ADMIN) != 0
}

// again runs the program in a fresh user and network namespace and gives its
// exit code; an error where it did not start.
func again() (code int, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(self, os.Args[1:]...)
	cmd.Env = append(os.Environ(), entered+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		Pdeathsig:   syscall.SIGKILL,
	}
	// The terminal's signals reach the child by itself; `go test` sends SIGQUIT
	// on a timeout to us alone.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGQUIT)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			_ = cmd.Process.Signal(s)
		case err := <-done:
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				return 0, err
			}
			return cmd.ProcessState.ExitCode(), nil
		}
	}
}
