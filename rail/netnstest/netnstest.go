// SPDX-License-Identifier: Apache-2.0

// Package netnstest gives tests network namespaces of their own, joined by
// veth pairs. Everything goes with the test.
package netnstest

import (
	"errors"
	"os"
	"runtime"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// New gives a fresh network namespace with its loopback up. It skips the test
// where the kernel does not allow one (CAP_SYS_ADMIN is needed, as root or in
// a user namespace, which Enter makes).
func New(tb testing.TB) netns.NsHandle {
	tb.Helper()
	var made netns.NsHandle
	err := onThread(func() (err error) {
		made, err = netns.New()
		return err
	})
	if errors.Is(err, os.ErrPermission) {
		tb.Skipf("needs CAP_SYS_ADMIN for network namespaces (run as root, or in `unshare -rn`): %v", err)
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = made.Close() })
	h := Handle(tb, made)
	lo, err := h.LinkByName("lo")
	if err == nil {
		err = h.LinkSetUp(lo)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return made
}

// Handle gives a netlink handle in a namespace, closed with the test.
func Handle(tb testing.TB, ns netns.NsHandle) *netlink.Handle {
	tb.Helper()
	h, err := netlink.NewHandleAt(ns, unix.NETLINK_ROUTE)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(h.Close)
	return h
}

// Veth joins two namespaces by a pair of devices of one MTU (bytes), both up.
func Veth(tb testing.TB, a, b netns.NsHandle, nameA, nameB string, mtu int) {
	tb.Helper()
	VethQueues(tb, a, b, nameA, nameB, mtu, 1)
}

// VethQueues is Veth with several transmit and receive queues.
func VethQueues(tb testing.TB, a, b netns.NsHandle, nameA, nameB string, mtu, queues int) {
	tb.Helper()
	h := Handle(tb, a)
	err := h.LinkAdd(&netlink.Veth{
		LinkAttrs: netlink.LinkAttrs{Name: nameA, MTU: mtu, Namespace: netlink.NsFd(a), TxQLen: 1000,
			NumTxQueues: queues, NumRxQueues: queues},
		PeerNumTxQueues: uint32(queues), PeerNumRxQueues: uint32(queues),
		PeerName: nameB, PeerMTU: uint32(mtu), PeerNamespace: netlink.NsFd(b),
	})
	if err != nil {
		tb.Fatal(err)
	}
	for _, end := range []struct {
		ns   netns.NsHandle
		name string
	}{{a, nameA}, {b, nameB}} {
		h := Handle(tb, end.ns)
		link, err := h.LinkByName(end.name)
		if err == nil {
			err = h.LinkSetUp(link)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
}

// SetUp takes a device up or down.
func SetUp(tb testing.TB, ns netns.NsHandle, name string, up bool) {
	tb.Helper()
	h := Handle(tb, ns)
	link, err := h.LinkByName(name)
	if err == nil && up {
		err = h.LinkSetUp(link)
	} else if err == nil {
		err = h.LinkSetDown(link)
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// Do runs f with its thread in a namespace.
func Do(tb testing.TB, ns netns.NsHandle, f func() error) {
	tb.Helper()
	if err := onThread(func() error {
		if err := netns.Set(ns); err != nil {
			return err
		}
		return f()
	}); err != nil {
		tb.Fatal(err)
	}
}

// onThread runs f on a thread that is thrown away after it.
func onThread(f func() error) error {
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // not unlocked: the thread ends with the goroutine
		result <- f()
	}()
	return <-result
}

// Quiet turns IPv6 off in a namespace, so that the kernel sends nothing of its
// own on its devices.
func Quiet(tb testing.TB, ns netns.NsHandle) {
	tb.Helper()
	Do(tb, ns, func() error {
		for _, which := range []string{"all", "default"} {
			path := "/proc/sys/net/ipv6/conf/" + which + "/disable_ipv6"
			if err := os.WriteFile(path, []byte("1"), 0); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
		return nil
	})
}
