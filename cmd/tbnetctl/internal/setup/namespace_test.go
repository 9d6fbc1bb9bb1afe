// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// inNamespace moves the test's thread into a network namespace of its own. The
// thread is not given back and ends with the test.
func inNamespace(t *testing.T) {
	t.Helper()
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Skipf("needs CAP_SYS_ADMIN, for a network namespace: %v", err)
	}
}

func term() <-chan os.Signal {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGTERM)
	return c
}
