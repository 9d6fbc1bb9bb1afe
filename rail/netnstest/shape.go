// SPDX-License-Identifier: Apache-2.0

package netnstest

import (
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// Shape gives a device a token bucket of rate bits per second with room for
// queue bytes, or changes the one that it has without losing what waits in it.
func Shape(tb testing.TB, ns netns.NsHandle, name string, rate uint64, queue int) {
	tb.Helper()
	h := Handle(tb, ns)
	link, err := h.LinkByName(name)
	if err != nil {
		tb.Fatal(err)
	}
	const burst = 128 << 10 // bytes: the largest frame and more
	err = h.QdiscReplace(&netlink.Tbf{
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: link.Attrs().Index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT},
		Rate:       rate / 8, Limit: uint32(queue), Buffer: burst,
	})
	if err != nil {
		tb.Fatalf("token bucket on %s: %v", name, err)
	}
}

// SetMTU changes a device's MTU in bytes.
func SetMTU(tb testing.TB, ns netns.NsHandle, name string, mtu int) {
	tb.Helper()
	h := Handle(tb, ns)
	link, err := h.LinkByName(name)
	if err == nil {
		err = h.LinkSetMTU(link, mtu)
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// Delete removes a device.
func Delete(tb testing.TB, ns netns.NsHandle, name string) {
	tb.Helper()
	h := Handle(tb, ns)
	link, err := h.LinkByName(name)
	if err == nil {
		err = h.LinkDel(link)
	}
	if err != nil {
		tb.Fatal(err)
	}
}
