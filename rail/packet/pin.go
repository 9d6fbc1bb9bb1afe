// SPDX-License-Identifier: Apache-2.0

package packet

import (
	"errors"
	"runtime"

	"golang.org/x/sys/unix"
)

// pin keeps a sender on one CPU while it sends. On a device with several
// transmit queues the kernel chooses the queue by the CPU, and frames of two
// queues overtake each other: a rail would be no FIFO. It costs two system
// calls a batch, and a move between CPUs where the scheduler had another.
type pin struct {
	home, here unix.CPUSet
}

// newPin chooses one of the CPUs that the process may use, another for the
// next device.
func newPin(ifindex int) (*pin, error) {
	p := new(pin)
	if err := unix.SchedGetaffinity(0, &p.home); err != nil {
		return nil, err
	}
	usable := p.home.Count()
	if usable == 0 {
		return nil, errors.New("no CPU may be used")
	}
	skip := ifindex % usable
	for cpu := 0; ; cpu++ {
		if !p.home.IsSet(cpu) {
			continue
		}
		if skip == 0 {
			p.here.Set(cpu)
			return p, nil
		}
		skip--
	}
}

// enter moves the calling goroutine's thread to the CPU. A failure (the CPU
// was taken from the process) leaves it where it is: frames may be reordered,
// which the transport counts and heals.
func (p *pin) enter() {
	runtime.LockOSThread()
	_ = unix.SchedSetaffinity(0, &p.here)
}

// leave lets it run anywhere again.
func (p *pin) leave() {
	_ = unix.SchedSetaffinity(0, &p.home)
	runtime.UnlockOSThread()
}
