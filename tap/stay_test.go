// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/vishvananda/netlink"

	"github.com/tbnet2/tbnet2/rail/netnstest"
	"github.com/tbnet2/tbnet2/wire"
)

var hostA = uuid.MustParse("5b3a1c0e-6f0e-4a44-9d7b-2f3a6c1d0001")

// Losing the peer drops the carrier; ifindex, addresses and membership stay,
// and traffic goes on when the peer is back.
func TestU3_PeerLossDropsCarrierOnly(t *testing.T) {
	a, b, pa, pb := pair(t, 1500)
	br := bridge(t, b)
	if err := a.ping(b.ip); err != nil {
		t.Fatal("before the loss:", err)
	}
	beforeA, beforeB := a.link(), b.link()
	for range 3 {
		pa.set(0, wire.PacketMax)
		pb.set(0, wire.PacketMax)
		for _, h := range []*host{a, b} {
			h.waitOper(netlink.OperDown)
			if h.dev.Carrier() {
				t.Error("the device says it has carrier")
			}
		}
		for what, x := range map[string][2]int{
			"ifindex of a": {a.link().Index, beforeA.Index}, "ifindex of b": {b.link().Index, beforeB.Index},
			"bridge of b": {b.link().MasterIndex, br},
		} {
			if x[0] != x[1] {
				t.Errorf("%s: got %d, want %d", what, x[0], x[1])
			}
		}
		if got, want := a.addrs("tbbond0"), []string{"10.77.0.1/24"}; !slices.Equal(got, want) {
			t.Errorf("addresses: got %v, want %v", got, want)
		}
		pa.set(1, wire.PacketMax)
		pb.set(1, wire.PacketMax)
		a.waitOper(netlink.OperUp)
		b.waitOper(netlink.OperUp)
		if err := a.ping(b.ip); err != nil {
			t.Fatal("after the return:", err)
		}
	}
}

// bridge makes the host's TAP the port of a bridge, which takes over the
// address, and gives the bridge's ifindex.
func bridge(t *testing.T, h *host) int {
	t.Helper()
	br := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "br0"}}
	addr, err := netlink.ParseAddr(h.ip + "/24")
	if err != nil {
		t.Fatal(err)
	}
	tap, err := h.h.LinkByName("tbbond0")
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []func() error{
		func() error { return h.h.LinkAdd(br) },
		func() error { return h.h.AddrDel(tap, addr) },
		func() error { return h.h.LinkSetMaster(tap, br) },
		func() error { addr.Label = ""; return h.h.AddrAdd(br, addr) },
		func() error { return h.h.LinkSetUp(br) },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	return br.Index
}

// A peer may come as late as it likes (nothing here has a timer): the device
// is up with its addresses, and programs can bind to them.
func TestU4_AddressesBeforeThePeer(t *testing.T) {
	a, b := newHost(t, "10.77.0.1"), newHost(t, "10.77.0.2")
	a.open(a.config())
	b.open(b.config())
	pa, pb := newPipes(t, 0)
	if err := errors.Join(a.dev.Attach(pa), b.dev.Attach(pb)); err != nil {
		t.Fatal(err)
	}
	a.waitOper(netlink.OperDown)
	if l := a.link(); l.Flags&net.FlagUp == 0 || l.MTU != DefaultMTU {
		t.Errorf("got flags %v and MTU %d, want up and %d", l.Flags, l.MTU, DefaultMTU)
	}
	if got, want := a.addrs("tbbond0"), []string{"10.77.0.1/24"}; !slices.Equal(got, want) {
		t.Errorf("addresses: got %v, want %v", got, want)
	}
	netnstest.Do(t, a.ns, func() error {
		l, err := net.Listen("tcp", a.ip+":0")
		if err == nil {
			err = l.Close()
		}
		return err
	})
	pa.set(1, wire.PacketMax)
	pb.set(1, wire.PacketMax)
	a.waitOper(netlink.OperUp)
	if err := a.ping(b.ip); err != nil {
		t.Error(err)
	}
}

// A restarted daemon finds its device: ifindex, MAC and addresses, also those
// that somebody else put there.
func TestU4_PersistentDeviceSurvivesRestart(t *testing.T) {
	a := newHost(t, "10.77.0.1")
	c := a.config()
	c.Persist, c.MAC = true, MAC(hostA, c.Name)
	first := open2(t, c)
	extra, err := netlink.ParseAddr("192.0.2.7/32")
	if err == nil {
		var l netlink.Link
		if l, err = a.h.LinkByName(c.Name); err == nil {
			err = a.h.AddrAdd(l, extra)
		}
	}
	pa, _ := newPipes(t, 1)
	if err := errors.Join(err, first.Attach(pa)); err != nil {
		t.Fatal(err)
	}
	a.waitOper(netlink.OperUp)
	pa.close()
	<-first.Done()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	a.waitOper(netlink.OperDown)
	between := a.link()

	a.open(c)
	again := a.link()
	if again.Index != between.Index || again.HardwareAddr.String() != c.MAC.String() {
		t.Errorf("after the restart: got index %d, MAC %s, want %d, %s", again.Index, again.HardwareAddr, between.Index, c.MAC)
	}
	if got, want := a.addrs(c.Name), []string{"10.77.0.1/24", "192.0.2.7/32"}; !slices.Equal(got, want) {
		t.Errorf("addresses: got %v, want %v", got, want)
	}
	if again.OperState == netlink.OperUp {
		t.Error("carrier before any port is attached")
	}
	pb, _ := newPipes(t, 1)
	if err := a.dev.Attach(pb); err != nil {
		t.Fatal(err)
	}
	a.waitOper(netlink.OperUp)
	if err := a.dev.Attach(pb); err == nil {
		t.Error("a second Attach succeeded")
	}
	pb.close()
	if err := errors.Join(a.dev.Close(), Remove(c.Name, int(a.ns)), Remove(c.Name, int(a.ns))); err != nil {
		t.Fatal(err)
	}
	if _, err := a.h.LinkByName(c.Name); !errors.As(err, new(netlink.LinkNotFoundError)) {
		t.Errorf("after Remove: got %v, want no such link", err)
	}
}

func TestOpenErrors(t *testing.T) {
	a := newHost(t, "10.77.0.1")
	a.open(a.config())
	netnstest.Do(t, a.ns, func() error { // made by the thread's namespace, not the handle's
		return netlink.LinkAdd(&netlink.Tuntap{LinkAttrs: netlink.LinkAttrs{Name: "tun0"}, Mode: netlink.TUNTAP_MODE_TUN})
	})
	for _, tc := range []struct {
		name   string
		change func(*Config)
		want   error
		text   string
	}{
		{"in use", func(*Config) {}, ErrBusy, "tap tbbond0: the device is in use"},
		{"no TAP", func(c *Config) { c.Name = "lo" }, ErrNotTAP, "tap lo: the name belongs"},
		{"a TUN", func(c *Config) { c.Name = "tun0" }, ErrNotTAP, "tap tun0: the name belongs"},
		{"no name", func(c *Config) { c.Name = "" }, nil, "no device name"},
		{"long name", func(c *Config) { c.Name = "sixteen-letters-" }, nil, "no device name"},
		{"pattern", func(c *Config) { c.Name = "tap%d" }, nil, "no device name"},
		{"small MTU", func(c *Config) { c.MTU = 1279 }, nil, "MTU 1279 is not within 1280 to 65521"},
		{"large MTU", func(c *Config) { c.MTU = 65522 }, nil, "MTU 65522 is not within"},
		{"multicast MAC", func(c *Config) { c.MAC = net.HardwareAddr{1, 0, 0, 0, 0, 0} }, nil, "no unicast"},
		{"namespace", func(c *Config) { c.NetNS = 1 << 20 }, nil, "enter network namespace"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := a.config()
			tc.change(&c)
			d, err := Open(c)
			if err == nil {
				d.Close()
				t.Fatal("no error")
			}
			if tc.want != nil && !errors.Is(err, tc.want) || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("got %q, want it to say %q", err, tc.text)
			}
		})
	}
	if err := Remove("lo", int(a.ns)); !errors.Is(err, ErrNotTAP) {
		t.Errorf("Remove(lo): got %v, want %v", err, ErrNotTAP)
	}
}

// A device that cannot be set up as asked for is not left behind.
func TestOpenFailureLeavesNothing(t *testing.T) {
	a := newHost(t, "10.77.0.1")
	c := a.config()
	open2(t, c).Close() // skips where there is no TAP
	c.Persist, c.MAC = true, make(net.HardwareAddr, 6)
	if d, err := Open(c); err == nil {
		d.Close()
		t.Fatal("the kernel took an all-zero MAC")
	}
	if _, err := a.h.LinkByName(c.Name); !errors.As(err, new(netlink.LinkNotFoundError)) {
		t.Errorf("after the failure: got %v, want no such link", err)
	}
}

func TestSizesFollowThePort(t *testing.T) {
	a := newHost(t, "10.77.0.1")
	a.open(a.config())
	a.dev.rest = time.Millisecond
	pa, _ := newPipes(t, 1)
	if err := a.dev.Attach(pa); err != nil {
		t.Fatal(err)
	}
	expect := func(what string, mtu, gso int) {
		t.Helper()
		wait(t, what, func() bool {
			l := a.link()
			return l.MTU == mtu && int(l.GSOMaxSize) == gso && int(l.GSOIPv4MaxSize) == gso
		})
	}
	expect("sizes of the largest packet", DefaultMTU, 65536)
	index := a.link().Index
	pa.set(1, 16*4064)
	expect("sizes for 16 Thunderbolt frames", 16*4064-18, 16*4064)
	pa.set(1, 9018)
	expect("sizes for small packets", 9000, 9018)
	pa.set(1, wire.PacketMax)
	expect("sizes after the return of a large rail", DefaultMTU, 65536)

	l, err := a.h.LinkByIndex(index)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.h.LinkSetMTU(l, 4000); err != nil {
		t.Fatal(err)
	}
	pa.set(1, 9018)
	expect("an administrator's MTU", 4000, 9018)
	pa.set(1, 3018)
	expect("an administrator's MTU that does not fit", 3000, 3018)
	pa.set(1, wire.PacketMax)
	expect("an administrator's MTU again", 4000, 65536)
	if !a.dev.Carrier() {
		t.Error("no carrier after changes of size")
	}
}

// A largest packet that changes for a moment does not change the netdev.
func TestSizesWaitForThePortToRest(t *testing.T) {
	a := newHost(t, "10.77.0.1")
	a.open(a.config())
	a.dev.rest = time.Hour
	pa, _ := newPipes(t, 1)
	if err := a.dev.Attach(pa); err != nil {
		t.Fatal(err)
	}
	a.waitOper(netlink.OperUp)
	pa.set(1, 9018)
	pa.set(0, 9018)
	a.waitOper(netlink.OperDown) // the change was seen
	if l := a.link(); l.MTU != DefaultMTU || l.GSOMaxSize != 65536 {
		t.Errorf("sizes followed at once: MTU %d, gso_max_size %d", l.MTU, l.GSOMaxSize)
	}
	pa.set(1, 9018)
	a.waitOper(netlink.OperUp)
	if l := a.link(); l.MTU != 9000 || l.GSOMaxSize != 9018 {
		t.Errorf("with a new carrier: MTU %d, gso_max_size %d, want 9000 and 9018", l.MTU, l.GSOMaxSize)
	}
}

func TestDeletedDevice(t *testing.T) {
	a := newHost(t, "10.77.0.1")
	a.open(a.config())
	pa, _ := newPipes(t, 1)
	if err := a.dev.Attach(pa); err != nil {
		t.Fatal(err)
	}
	a.waitOper(netlink.OperUp)
	if err := a.dev.Err(); err != nil {
		t.Fatal(err)
	}
	if err := Remove("tbbond0", int(a.ns)); err != nil {
		t.Fatal(err)
	}
	<-a.dev.Done()
	if err := a.dev.Err(); err == nil || !strings.Contains(err.Error(), "the device was deleted") {
		t.Errorf("got %v, want that the device was deleted", err)
	}
}

func TestMAC(t *testing.T) {
	x, y := MAC(hostA, "tbbond0"), MAC(hostA, "tbbond1")
	if x[0] != 2 || len(x) != 6 || x.String() == y.String() || x.String() != MAC(hostA, "tbbond0").String() {
		t.Errorf("got %s and %s, want two stable addresses that begin with 02", x, y)
	}
	other := hostA
	other[15]++
	if MAC(other, "tbbond0").String() == x.String() {
		t.Error("two hosts have one MAC")
	}
}
