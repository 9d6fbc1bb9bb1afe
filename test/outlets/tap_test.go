// SPDX-License-Identifier: Apache-2.0

package outlets

import (
	"net"
	"os"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/tbnet2/tbnet2/rail/netnstest"
	"github.com/tbnet2/tbnet2/transport"
)

func nothing() {}

// Each outlet with each, in both directions.
func TestOutletsTalk(t *testing.T) {
	for name, open := range map[string]func(a, b *host){
		"TAP to TAP":           func(a, b *host) { a.openTAP(0); b.openTAP(0) },
		"TAP 1500 to TAP 1500": func(a, b *host) { a.openTAP(1500); b.openTAP(1500) },
		"TAP 1500 to TAP":      func(a, b *host) { a.openTAP(1500); b.openTAP(0) },
		"TAP to gVisor":        func(a, b *host) { a.openTAP(0); b.openStack() },
		"TAP 1500 to gVisor":   func(a, b *host) { a.openTAP(1500); b.openStack() },
	} {
		t.Run(name, func(t *testing.T) {
			a, b := join(t, 2, 9000)
			open(a, b)
			for _, way := range [][2]*host{{a, b}, {b, a}} {
				out, in := connect(t, way[0], way[1])
				begun := time.Now()
				if err := transfer(out, in, 48<<20, nothing); err != nil {
					t.Fatalf("%s to %s: %v", way[0].ip, way[1].ip, err)
				}
				t.Logf("%s to %s: %.2f Gb/s with hashing", way[0].ip, way[1].ip, 48*8.388608e-3/time.Since(begun).Seconds())
			}
			for _, h := range []*host{a, b} {
				h.checkTAP(t)
			}
		})
	}
}

// checkTAP expects large packets and no drop.
func (h *host) checkTAP(t *testing.T) {
	t.Helper()
	if h.tap == nil {
		return
	}
	s := h.tap.Stats()
	if s.RxBadOffload+s.RxErrors+s.RxBusy+s.RxShort+s.TxRefused+s.TxShort != 0 {
		t.Errorf("%s: dropped: %+v", h.ip, s)
	}
	if s.TxBytes+s.RxBytes < (s.TxPackets+s.RxPackets)*4000 {
		t.Errorf("%s: packets are small: %+v", h.ip, s)
	}
}

// One cable goes and comes back in the middle of a transfer.
func TestTransferAcrossUnplug(t *testing.T) {
	a, b := join(t, 2, 9000)
	a.openTAP(1500)
	b.openTAP(1500)
	out, in := connect(t, a, b)
	err := transfer(out, in, 96<<20, func() { netnstest.SetUp(t, b.ns, "cable1", false) })
	if err != nil {
		t.Fatal(err)
	}
	wait(t, "the rail is seen down", func() bool { return a.railsUp() == 1 })
	wait(t, "carrier by the rail that lives", a.tap.Carrier)
	netnstest.SetUp(t, b.ns, "cable1", true)
	wait(t, "the rail is back", func() bool { return a.railsUp() == 2 && b.railsUp() == 2 })
}

// All cables go: the carrier goes with them, nothing else does, and a session
// that was open goes on when one is back.
func TestU3_AllRailsLost(t *testing.T) {
	a, b := join(t, 2, 9000)
	a.openTAP(0)
	b.openTAP(0)
	out, in := connect(t, a, b)
	before := a.netdev(t)
	for _, up := range []bool{false, true} {
		netnstest.SetUp(t, b.ns, "cable0", up)
		netnstest.SetUp(t, b.ns, "cable1", up)
		wait(t, "carrier as the rails are", func() bool { return a.tap.Carrier() == up && b.tap.Carrier() == up })
	}
	after := a.netdev(t)
	if after.Index != before.Index || after.HardwareAddr.String() != before.HardwareAddr.String() {
		t.Errorf("netdev: got %+v, want %+v", after, before)
	}
	if err := transfer(out, in, 1<<20, nothing); err != nil {
		t.Error("the session did not go on:", err)
	}
}

func (h *host) netdev(t *testing.T) (i *net.Interface) {
	t.Helper()
	netnstest.Do(t, h.ns, func() (err error) {
		i, err = h.tap.Interface()
		return err
	})
	return i
}

// Large packets both ways at once over two rails: TCP sends nothing twice that
// was not lost. A machine that stands still long enough makes the fabric give
// packets up, so a run without any loss is waited for.
func TestU46_NoSpuriousRetransmits(t *testing.T) {
	for range 8 {
		a, b := join(t, 2, 9000)
		a.openTAP(1500)
		b.openTAP(1500)
		sent := bothWays(t, a, b)
		if lost := a.lost() + b.lost(); lost != 0 {
			t.Logf("%d packets lost, %d segments sent again: once more", lost, sent)
			continue
		}
		if sent != 0 {
			t.Errorf("%d segments sent again, want 0", sent)
		}
		a.checkTAP(t)
		b.checkTAP(t)
		return
	}
	t.Error("packets were lost in each of 8 runs")
}

// bothWays transfers in both directions at once and gives how many segments
// TCP sent again.
func bothWays(t *testing.T, a, b *host) (again uint32) {
	t.Helper()
	var conns []*net.TCPConn
	errs := make(chan error)
	for _, way := range [][2]*host{{a, b}, {b, a}} {
		way[0].noSpuriousTimers(t)
		out, in := connect(t, way[0], way[1])
		conns = append(conns, out.(*net.TCPConn))
		go func() { errs <- transfer(out, in, 48<<20, nothing) }()
	}
	for range conns {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	for _, c := range conns {
		again += retransmits(t, c)
	}
	return again
}

// lost counts packets that the host's fabric or TAP has given up.
func (h *host) lost() uint64 {
	st := h.fab.Status()
	n := st.Drops["no_peer"] + h.tap.Stats().TxRingFull
	for _, p := range st.Peers {
		n += p.Send.Outcomes[transport.GivenUp] + p.Receive.HoleTimeouts
	}
	return n
}

// noSpuriousTimers keeps pauses of a busy machine out of the count: no tail loss
// probe, which repeats a segment after two round trips, and a retransmission
// timeout of 5 s. All losses that acknowledgements show still count.
func (h *host) noSpuriousTimers(t *testing.T) {
	t.Helper()
	netnstest.Do(t, h.ns, func() error {
		return os.WriteFile("/proc/sys/net/ipv4/tcp_early_retrans", []byte("0"), 0)
	})
	handle := netnstest.Handle(t, h.ns)
	routes, err := handle.RouteListFiltered(netlink.FAMILY_V4, &netlink.Route{LinkIndex: h.tap.Index()}, netlink.RT_FILTER_OIF)
	if err != nil || len(routes) == 0 {
		t.Fatal("the TAP's route:", routes, err)
	}
	routes[0].RtoMin = 5000
	if err := handle.RouteReplace(&routes[0]); err != nil {
		t.Fatal(err)
	}
}

func retransmits(t *testing.T, c *net.TCPConn) (n uint32) {
	t.Helper()
	raw, err := c.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) {
			info, e := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
			if e != nil {
				t.Error(e)
				return
			}
			n = info.Total_retrans
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func BenchmarkTAP(b *testing.B) {
	for _, mtu := range []int{1500, 0} {
		for name, railMTU := range map[string]int{"one rail of 65535": 65535, "one rail of 9000": 9000} {
			b.Run(name+map[int]string{0: ", TAP of 65520", 1500: ", TAP of 1500"}[mtu], func(b *testing.B) {
				x, y := join(b, 1, railMTU)
				x.openTAP(mtu)
				y.openTAP(mtu)
				out, in := connect(b, x, y)
				go func() {
					buf := make([]byte, 1<<20)
					for {
						if _, err := in.Read(buf); err != nil {
							return
						}
					}
				}()
				buf := make([]byte, 1<<20)
				b.SetBytes(int64(len(buf)))
				for b.Loop() {
					if _, err := out.Write(buf); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
