// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// transfer sends n bytes that nobody can guess over a connection and compares
// hashes. It runs on a goroutine of the caller's.
func transfer(from, to *net.TCPConn, n int64) error {
	var sent [32]byte
	sendErr := make(chan error, 1)
	go func() {
		h := sha256.New()
		src := io.LimitReader(rand.NewChaCha8([32]byte{byte(n)}), n)
		_, err := io.CopyBuffer(struct{ io.Writer }{io.MultiWriter(from, h)}, src, make([]byte, 256<<10))
		h.Sum(sent[:0])
		sendErr <- errors.Join(err, from.CloseWrite())
	}()
	h := sha256.New()
	got, err := io.CopyBuffer(struct{ io.Writer }{h}, struct{ io.Reader }{to}, make([]byte, 256<<10))
	if err := errors.Join(err, <-sendErr); err != nil {
		return err
	}
	if got != n || [32]byte(h.Sum(nil)) != sent {
		return errors.New("bytes that arrived are not those sent")
	}
	return nil
}

func tcpInfo(tb testing.TB, c *net.TCPConn) *unix.TCPInfo {
	tb.Helper()
	raw, err := c.SyscallConn()
	if err != nil {
		tb.Fatal(err)
	}
	var info *unix.TCPInfo
	var inner error
	if err := raw.Control(func(fd uintptr) {
		info, inner = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
	}); err != nil || inner != nil {
		tb.Fatal(err, inner)
	}
	return info
}

func TestPing(t *testing.T) {
	a, b, _, _ := pair(t, 0)
	if err := a.ping(b.ip); err != nil {
		t.Error("a to b:", err)
	}
	if err := b.ping(a.ip); err != nil {
		t.Error("b to a:", err)
	}
}

// The kernel hands over superpackets whatever the MTU, and they cross whole.
func TestTransferInSuperpackets(t *testing.T) {
	for name, mtu := range map[string]int{"MTU 1500": 1500, "MTU 9000": 9000, "default MTU": 0} {
		t.Run(name, func(t *testing.T) {
			a, b, _, _ := pair(t, mtu)
			from, to := connect(t, a, b)
			if err := transfer(from, to, 64<<20); err != nil {
				t.Fatal(err)
			}
			sent, got := a.dev.Stats(), b.dev.Stats()
			if mean := sent.TxBytes / sent.TxPackets; mean < 12000 {
				t.Errorf("mean packet sent: got %d B, want far above the MTU (%d packets)", mean, sent.TxPackets)
			}
			if mtu != 0 && (sent.TxSuper == 0 || got.RxSuper == 0) {
				t.Errorf("superpackets: %d sent, %d received, want some", sent.TxSuper, got.RxSuper)
			}
			if drops := got.drops() + sent.drops(); drops != 0 {
				t.Errorf("dropped: got %d, want 0: %+v %+v", drops, sent, got)
			}
		})
	}
}

func (s Stats) drops() uint64 {
	return s.TxRefused + s.TxShort + s.TxRingFull + s.RxShort + s.RxBadOffload + s.RxBusy + s.RxDown + s.RxErrors + s.RxClosed
}

// Large packets both ways at once, and the kernel sends nothing twice.
func TestU46_NoRetransmits(t *testing.T) {
	a, b, _, _ := pair(t, 1500)
	a.noLossProbes()
	b.noLossProbes()
	from1, to1 := connect(t, a, b)
	from2, to2 := connect(t, b, a)
	var both sync.WaitGroup
	for _, c := range [][2]*net.TCPConn{{from1, to1}, {from2, to2}} {
		both.Go(func() {
			if err := transfer(c[0], c[1], 48<<20); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	for name, c := range map[string]*net.TCPConn{"a to b": from1, "b to a": from2} {
		if info := tcpInfo(t, c); info.Lost != 0 || info.Total_retrans != 0 {
			t.Errorf("%s: %d segments sent again, want 0", name, info.Total_retrans)
		}
	}
	for _, h := range []*host{a, b} {
		s := h.dev.Stats()
		if s.TxSuper == 0 || s.drops() != 0 {
			t.Errorf("want superpackets and no drop: %+v", s)
		}
	}
}

// A port that is full all the time slows the kernel's TCP down and costs it nothing.
func TestSmallQueue(t *testing.T) {
	a, b, pa, _ := pair(t, 1500)
	pa.bound(64 << 10)
	a.noLossProbes()
	from, to := connect(t, a, b)
	if err := transfer(from, to, 32<<20); err != nil {
		t.Fatal(err)
	}
	s := a.dev.Stats()
	if s.TxFull == 0 || s.drops() != 0 {
		t.Errorf("want a full port and no drop: %+v", s)
	}
	if info := tcpInfo(t, from); info.Total_retrans != 0 {
		t.Errorf("%d segments sent again, want 0", info.Total_retrans)
	}
}

// A port that takes no more stops the reading; the netdev's ring keeps the rest.
func TestBackPressure(t *testing.T) {
	const datagrams, size, limit = 100, 1000, 64 << 10
	a, b, pa, _ := pair(t, 1500)
	if err := a.ping(b.ip); err != nil { // so that addresses are known
		t.Fatal(err)
	}
	from, to := datagramSockets(t, a, b)
	pa.gate(true)
	pa.bound(limit)
	buf := make([]byte, size)
	for i := range datagrams {
		buf[0] = byte(i)
		if _, err := from.Write(buf); err != nil {
			t.Fatal(err)
		}
	}
	wait(t, "reading stopped by a full port", func() bool { return a.dev.Stats().TxFull > 0 })
	if held := pa.held(); held > limit {
		t.Errorf("the port holds %d B, want at most %d", held, limit)
	}
	pa.gate(false)
	for i := range datagrams {
		if _, err := to.Read(buf); err != nil {
			t.Fatalf("datagram %d: %v", i, err)
		}
		if buf[0] != byte(i) {
			t.Fatalf("got datagram %d, want %d", buf[0], i)
		}
	}
	if s := a.dev.Stats(); s.drops() != 0 {
		t.Errorf("dropped: got %d, want 0: %+v", s.drops(), s)
	}
}

func BenchmarkTransfer(b *testing.B) {
	x, y, _, _ := pair(b, 1500)
	from, to := connect(b, x, y)
	go func() {
		_, _ = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{to}, make([]byte, 1<<20))
	}()
	buf := make([]byte, 1<<20)
	b.SetBytes(int64(len(buf)))
	for b.Loop() {
		if _, err := from.Write(buf); err != nil {
			b.Fatal(err)
		}
	}
}
