// SPDX-License-Identifier: Apache-2.0

package packet

import (
	"fmt"
	"runtime"

	"github.com/vishvananda/netns"
)

// inNetNS runs f with its thread in a network namespace. A thread that cannot
// be brought back is not used again.
func inNetNS(ns netns.NsHandle, f func() error) error {
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked after a failure: the thread ends with the goroutine
		home, err := netns.Get()
		if err != nil {
			result <- err
			return
		}
		defer home.Close()
		if err := netns.Set(ns); err != nil {
			result <- fmt.Errorf("enter network namespace: %w", err)
			return
		}
		err = f()
		if netns.Set(home) == nil {
			runtime.UnlockOSThread()
		}
		result <- err
	}()
	return <-result
}

// hostToNet swaps to network order.
func hostToNet(v uint16) uint16 { return v<<8 | v>>8 }
