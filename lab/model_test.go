// SPDX-License-Identifier: Apache-2.0

package lab_test

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tbnet2/tbnet2/lab"
	"github.com/tbnet2/tbnet2/rail"
)

// address gives a host's device an IPv4 address of the test's own.
func address(t *testing.T, n *lab.Node, dev, addr string) {
	t.Helper()
	cmd, err := n.Command(t.Context(), "ip", "addr", "add", addr+"/24", "dev", dev)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("address: %v: %s", err, out)
	}
}

// echo answers UDP datagrams at an address of a host until the test ends.
func echo(t *testing.T, n *lab.Node, addr string) {
	t.Helper()
	var c net.PacketConn
	err := n.Do(func() (err error) {
		c, err = net.ListenPacket("udp4", addr+":7")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 2048)
		for {
			k, from, err := c.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = c.WriteTo(buf[:k], from)
		}
	}()
	t.Cleanup(func() { _ = c.Close(); <-done })
}

// ping sends a datagram to an echo and waits for it, at most for d.
func ping(t *testing.T, n *lab.Node, addr string, d time.Duration) (time.Duration, error) {
	t.Helper()
	var c net.Conn
	err := n.Do(func() (err error) {
		c, err = net.Dial("udp4", addr+":7")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(d)); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if _, err := c.Write([]byte("ping")); err != nil {
		return 0, err
	}
	_, err = c.Read(make([]byte, 16))
	return time.Since(start), err
}

func change(t *testing.T, l *lab.Lab, target, what string) {
	t.Helper()
	ch, err := lab.ParseChange(what)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Set(target, ch); err != nil {
		t.Fatalf("Set %s %s: %v", target, what, err)
	}
}

func TestDelayAndDiscard(t *testing.T) {
	l := build(t, lab.Pair(1, 1).With(func(l *lab.Link) { l.Delay = 10 * lab.Millisecond }), netMode(t))
	address(t, l.Host("a"), "rail0", "10.9.0.1")
	address(t, l.Host("b"), "rail0", "10.9.0.2")
	echo(t, l.Host("b"), "10.9.0.2")
	if _, err := ping(t, l.Host("a"), "10.9.0.2", 5*time.Second); err != nil { // finds the neighbour
		t.Fatalf("ping: %v", err)
	}
	for _, tc := range []struct {
		change      string
		least, most time.Duration
	}{
		{"delay=10ms", 20 * time.Millisecond, 120 * time.Millisecond},
		{"delay=60ms,from=a", 70 * time.Millisecond, 170 * time.Millisecond},
		{"delay=0", 0, 20 * time.Millisecond},
	} {
		change(t, l, "cable1", tc.change)
		best := time.Hour // of a busy machine
		for range 5 {
			rtt, err := ping(t, l.Host("a"), "10.9.0.2", 5*time.Second)
			if err != nil {
				t.Errorf("after %s: %v", tc.change, err)
			}
			best = min(best, rtt)
		}
		if best < tc.least || best > tc.most {
			t.Errorf("after %s: round trip %v, want %v to %v", tc.change, best, tc.least, tc.most)
		}
	}
	change(t, l, "cable1", "stall=150ms")
	if rtt, err := ping(t, l.Host("a"), "10.9.0.2", 5*time.Second); err != nil || rtt < 140*time.Millisecond {
		t.Errorf("after a stall of 150 ms: round trip %v, %v", rtt, err)
	}
	change(t, l, "cable1", "discard=on,from=b")
	if rtt, err := ping(t, l.Host("a"), "10.9.0.2", 100*time.Millisecond); err == nil {
		t.Errorf("an answer after %v, though what comes from b is discarded", rtt)
	}
	ends := l.Status().Rails[0].Ends
	if ends[0].Discard || ends[0].Counts.Discarded != 0 || !ends[1].Discard || ends[1].Counts.Discarded == 0 {
		t.Errorf("status of the ends: %+v", ends)
	}
	change(t, l, "cable1", "discard=off")
	if _, err := ping(t, l.Host("a"), "10.9.0.2", 5*time.Second); err != nil {
		t.Errorf("ping after discard=off: %v", err)
	}
}

func TestRates(t *testing.T) {
	mode := netMode(t)
	pair := lab.Pair(1, 2).With(func(l *lab.Link) { l.Rate = 200 * lab.Mbit })
	sw := lab.Switched(3, 1).With(func(l *lab.Link) { l.Rate = 200 * lab.Mbit })
	for _, tc := range []struct {
		name string
		topo lab.Topology
		to   string
	}{{"cable", pair, "b"}, {"segment", sw, "c"}} {
		t.Run(tc.name, func(t *testing.T) {
			l := build(t, tc.topo, mode)
			r, err := l.Verify(t.Context(), lab.VerifyPlan{Over: lab.OverKernel, Bytes: 8 << 20, To: tc.to})
			if err != nil || !r.Equal {
				t.Fatalf("Verify: %v, %+v", err, r)
			}
			if r.Rate < 20*lab.Mbit || r.Rate > 215*lab.Mbit { // a busy machine may be slow
				t.Errorf("rate is %s, want at most 200mbit", r.Rate)
			}
		})
	}
}

// TestRailsShareARate sends on both rails of a cable at once.
func TestRailsShareARate(t *testing.T) {
	modes(t, func(t *testing.T, mode lab.Mode) {
		topo := lab.Pair(1, 2).With(func(l *lab.Link) { l.Rate, l.Queue = 80*lab.Mbit, 64<<20 })
		l := build(t, topo, mode)
		a, b := open(t, l.Host("a")), open(t, l.Host("b"))
		const each, size = 200, 5000 // 2 MB in all, 200 ms at 80 Mb/s
		start := time.Now()
		done := make(chan error, 2)
		for i := range a {
			go func() { done <- take(b[i], each) }()
		}
		for i := range a {
			go func() { send(a[i], b[i].Info().MAC, each, size) }()
		}
		for range a {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(start); took < 190*time.Millisecond || took > 5*time.Second {
			t.Errorf("both rails took %v, want about 200 ms", took)
		}
	})
}

// send passes n frames of size bytes.
func send(d rail.Device, to rail.MAC, n, size int) {
	f := []rail.TxFrame{frame(to, size, 1)}
	for range n {
		for {
			if _, err := d.Send(f); err == nil {
				break
			}
			if err := d.WaitSend(); err != nil {
				return
			}
		}
	}
}

// take waits for n frames.
func take(d rail.Device, n int) error {
	in := make([]rail.RxFrame, 64)
	for n > 0 {
		k, err := d.Recv(in)
		if err != nil {
			return fmt.Errorf("%d frames short: %w", n, err)
		}
		n -= k
	}
	return nil
}

// statistic reads a device's own counter, with those of all protocols.
func statistic(t *testing.T, n *lab.Node, name string) uint64 {
	t.Helper()
	cmd, err := n.Command(t.Context(), "cat", "/sys/class/net/rail0/statistics/"+name)
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	v, err := strconv.ParseUint(strings.TrimSpace(string(out)), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestLossIsCountedExactly(t *testing.T) {
	if _, err := os.Stat("/sys/class/net"); err != nil {
		t.Skipf("needs /sys: %v", err)
	}
	topo := lab.Pair(1, 1).With(func(l *lab.Link) { l.Loss, l.Duplicate = 10*lab.Percent, 5*lab.Percent })
	l := build(t, topo, netMode(t))
	a, b := open(t, l.Host("a")), l.Host("b")
	send(a[0], rail.MAC{2, 0x74, 0x62, 0, 1, 0}, 2000, 500)
	var c lab.Counts
	eventually(t, "what was sent is lost or has come", func() bool {
		c = l.Status().Rails[0].Ends[0].Counts
		tx, rx := statistic(t, l.Host("a"), "tx_packets"), statistic(t, b, "rx_packets")
		return c.In == tx && c.Out == rx && tx+c.Duplicated-c.Lost-c.Unplugged-c.Missed == rx
	})
	if seen := c.In - c.Missed; c.In < 2000 || c.Lost < seen*6/100 || c.Lost > seen*15/100 || c.Duplicated < seen*2/100 || c.Duplicated > seen*8/100 {
		t.Errorf("of 2000 frames with 10%% loss and 5%% twice: %+v", c)
	}
}

func TestSegmentDelivers(t *testing.T) {
	mode := netMode(t)
	for _, m := range []lab.Model{lab.Relay, lab.TBF} {
		t.Run(string(m), func(t *testing.T) {
			topo := lab.Switched(3, 1)
			topo.Segments[0].Model = m
			l := build(t, topo, mode)
			a, b, c := open(t, l.Host("a")), open(t, l.Host("b")), open(t, l.Host("c"))
			all := []rail.Device{a[0], b[0], c[0]}
			everyone := rail.MAC{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
			for _, d := range all { // the switch learns where they are
				if _, err := d.Send([]rail.TxFrame{frame(everyone, 100, 1)}); err != nil {
					t.Fatal(err)
				}
			}
			for _, d := range all {
				if err := take(d, len(all)-1); err != nil {
					t.Error(err)
				}
			}
			cross(t, b[0], c[0], 2)
			cross(t, c[0], a[0], 3)
			if err := l.Unplug("segment1.b"); err != nil {
				t.Fatal(err)
			}
			eventually(t, "b has no carrier", func() bool { return !b[0].Info().Carrier })
			if !a[0].Info().Carrier {
				t.Error("unplugging b's port took a's carrier")
			}
			cross(t, a[0], c[0], 4)
		})
	}
}
