// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// NetNS is a network namespace, kept alive by an open descriptor. Its methods
// may be called from any goroutine.
type NetNS struct {
	mu    sync.Mutex
	file  *os.File
	inode uint64
}

// Do runs f with the calling goroutine's thread inside the namespace and
// returns its error. Sockets that f opens stay in the namespace afterwards;
// goroutines that f starts are not in it.
func (n *NetNS) Do(f func() error) error {
	runtime.LockOSThread()
	back, err := openNS("net")
	if err != nil {
		runtime.UnlockOSThread()
		return err
	}
	defer back.Close()
	if err := unix.Setns(n.Fd(), unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("enter network namespace: %w", err)
	}
	defer func() {
		// A thread that cannot go back stays locked, and so ends with its
		// goroutine instead of serving others from the wrong namespace.
		if unix.Setns(int(back.Fd()), unix.CLONE_NEWNET) == nil {
			runtime.UnlockOSThread()
		}
	}()
	return f()
}

// Fd gives the descriptor, valid until the lab closes.
func (n *NetNS) Fd() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.file == nil {
		return -1
	}
	return int(n.file.Fd())
}

// Path names the namespace for other processes of the same user, as
// `nsenter --net=` takes it. It is valid until the lab closes.
func (n *NetNS) Path() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), n.Fd()) }

// Inode is the namespace's number, as in the link /proc/PID/ns/net.
func (n *NetNS) Inode() uint64 { return n.inode }

func (n *NetNS) close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.file == nil {
		return nil
	}
	err := n.file.Close()
	n.file = nil
	return err
}

// newNetNS makes a namespace with nothing in it but a loopback device.
func newNetNS() (*NetNS, error) {
	var ns *NetNS
	err := onThread(func() (err error) {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("make network namespace: %w", err)
		}
		ns, err = takeNetNS()
		return err
	})
	return ns, err
}

// takeNetNS holds the namespace that the calling thread is in.
func takeNetNS() (*NetNS, error) {
	file, err := openNS("net")
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil {
		return nil, errors.Join(fmt.Errorf("network namespace: %w", err), file.Close())
	}
	return &NetNS{file: file, inode: st.Ino}, nil
}

// openNS opens the calling thread's namespace of a kind: net, mnt, uts.
func openNS(kind string) (*os.File, error) {
	f, err := os.Open("/proc/thread-self/ns/" + kind)
	if err != nil {
		return nil, fmt.Errorf("open %s namespace: %w", kind, err)
	}
	return f, nil
}

// onThread runs f on a thread that ends afterwards, so that f may change what
// cannot be changed back. It waits for f.
func onThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() != unix.Getpid() {
			done <- f()
			return // still locked: the thread ends
		}
		// The process's first thread never ends and would keep what f made.
		// While it is held here, another one does it.
		err := onThread(f)
		runtime.UnlockOSThread()
		done <- err
	}()
	return <-done
}
