// SPDX-License-Identifier: Apache-2.0

package packet

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/tbnet2/tbnet2/rail"
	"github.com/tbnet2/tbnet2/rail/netnstest"
	"github.com/tbnet2/tbnet2/wire"
)

// spaces joins r0 of two fresh namespaces.
func spaces(tb testing.TB, mtu int) (na, nb netns.NsHandle) {
	tb.Helper()
	na, nb = netnstest.New(tb), netnstest.New(tb)
	netnstest.Veth(tb, na, nb, "r0", "r0", mtu)
	return na, nb
}

// pair opens both ends of a veth between two fresh namespaces.
func pair(tb testing.TB, mtu int) (a, b *Device) {
	tb.Helper()
	na, nb := spaces(tb, mtu)
	return open(tb, na, true), open(tb, nb, true)
}

// frame makes a frame for endpoint 7 with size bytes.
func frame(to rail.MAC, size int, fill byte) rail.TxFrame {
	head := make([]byte, 32)
	h := wire.Header{Type: wire.TypeData, Index: 0x100 | 7, Length: uint16(size - wire.HeaderLen)}
	h.Put(head)
	return rail.TxFrame{To: to, Head: head, Body: [][]byte{bytes.Repeat([]byte{fill}, size-32)}}
}

// TestOnlyOwnFrames sends what the filter must keep out, and then a frame that
// it must let through.
func TestOnlyOwnFrames(t *testing.T) {
	a, b := pair(t, 1500)
	to := b.Info().MAC
	other := rail.MAC{2, 9, 9, 9, 9, 9}
	wrongEndpoint := frame(to, 100, 1)
	wrongEndpoint.Head[4] = 8
	mine := frame(to, 100, 2)
	hello := frame(rail.MAC(wire.HelloMAC), 100, 3)
	hello.Head[0] = wire.Version<<4 | byte(wire.TypeHello)
	if _, err := a.Send([]rail.TxFrame{frame(other, 100, 1), wrongEndpoint, hello, mine}); err != nil {
		t.Fatal(err)
	}
	var got []byte
	in := make([]rail.RxFrame, 8)
	for len(got) < 2 {
		n, err := b.Recv(in)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range in[:n] {
			got = append(got, f.Data[len(f.Data)-1])
		}
	}
	if string(got) != "\x03\x02" {
		t.Errorf("frames %v came, want 3 (HELLO) and 2", got)
	}
}

// take receives one frame at d and gives its last byte.
func take(t *testing.T, d *Device) byte {
	t.Helper()
	var in [1]rail.RxFrame
	if _, err := d.Recv(in[:]); err != nil {
		t.Fatal(err)
	}
	return in[0].Data[len(in[0].Data)-1]
}

// notice waits until Info fits.
func notice(t *testing.T, d *Device, fits func(rail.Info) bool) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for !fits(d.Info()) {
		select {
		case <-d.Changed():
		case <-deadline:
			t.Fatalf("Info stays %+v", d.Info())
		}
	}
}

// TestNoTaggedFrames: a frame in a VLAN is not the device's own, though the
// kernel shows it without its tag.
func TestNoTaggedFrames(t *testing.T) {
	a, b := pair(t, 1500)
	to, from := b.Info().MAC, a.Info().MAC
	tagged := append(append(to[:], from[:]...), 0x81, 0, 0, 5, etherType>>8, etherType&0xff)
	tagged = append(append(tagged, frame(to, 100, 1).Head...), make([]byte, 68)...)
	var err error
	if ctl := a.tx.raw.Control(func(fd uintptr) { _, err = unix.Write(int(fd), tagged) }); ctl != nil || err != nil {
		t.Fatal(ctl, err)
	}
	if _, err := a.Send([]rail.TxFrame{frame(to, 100, 2)}); err != nil {
		t.Fatal(err)
	}
	if got := take(t, b); got != 2 {
		t.Errorf("frame %d came, want 2", got)
	}
}

// TestOwnFramesDoNotComeBack: a HELLO goes to a group that the sender is in.
func TestOwnFramesDoNotComeBack(t *testing.T) {
	a, b := pair(t, 1500)
	hello := frame(rail.MAC(wire.HelloMAC), 100, 1)
	hello.Head[0] = wire.Version<<4 | byte(wire.TypeHello)
	if _, err := a.Send([]rail.TxFrame{hello}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Send([]rail.TxFrame{frame(a.Info().MAC, 100, 2)}); err != nil {
		t.Fatal(err)
	}
	if got := take(t, a); got != 2 {
		t.Errorf("frame %d came, want the other end's", got)
	}
}

// TestCloseLeavesHeldFrames: another goroutine may close the device while the
// reader still works on what Recv gave.
func TestCloseLeavesHeldFrames(t *testing.T) {
	a, b := pair(t, 1500)
	if _, err := a.Send([]rail.TxFrame{frame(b.Info().MAC, 1500, 9)}); err != nil {
		t.Fatal(err)
	}
	var in [1]rail.RxFrame
	if _, err := b.Recv(in[:]); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if got := in[0].Data[1499]; got != 9 {
		t.Errorf("after Close the frame ends in %d", got)
	}
	for range 2 {
		if _, err := b.Recv(in[:]); !errors.Is(err, rail.ErrClosed) {
			t.Errorf("Recv: %v", err)
		}
	}
	if got := b.rx.Load().mem; got != nil {
		t.Error("the ring is mapped still")
	}
}

// TestRemoval: a device that is gone has no carrier; Recv waits until Close.
func TestRemoval(t *testing.T) {
	na, nb := spaces(t, 1500)
	a, b := open(t, na, true), open(t, nb, true)
	got := make(chan error, 1)
	go func() {
		_, err := b.Recv(make([]rail.RxFrame, 1))
		got <- err
	}()
	netnstest.Delete(t, na, "r0")
	for _, d := range []*Device{a, b} {
		notice(t, d, func(i rail.Info) bool { return !i.Carrier })
		if n, err := d.Send([]rail.TxFrame{frame(rail.MAC{2}, 100, 1)}); n != 1 || err != nil {
			t.Errorf("Send: %d, %v, want the frame lost", n, err)
		}
		if st := d.Stats(); st.TxErrors != 1 || st.TxFrames != 0 {
			t.Errorf("totals %+v, want one error", st)
		}
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if err := <-got; !errors.Is(err, rail.ErrClosed) {
		t.Errorf("Recv: %v, want ErrClosed", err)
	}
}

// TestNewAddress: frames carry the device's address as it is now.
func TestNewAddress(t *testing.T) {
	na, nb := spaces(t, 1500)
	a, b := open(t, na, true), open(t, nb, true)
	want := rail.MAC{2, 1, 2, 3, 4, 5}
	h := netnstest.Handle(t, na)
	link, err := h.LinkByName("r0")
	if err == nil {
		err = h.LinkSetHardwareAddr(link, want[:])
	}
	if err != nil {
		t.Fatal(err)
	}
	notice(t, a, func(i rail.Info) bool { return i.MAC == want })
	if _, err := a.Send([]rail.TxFrame{frame(b.Info().MAC, 100, 1)}); err != nil {
		t.Fatal(err)
	}
	var in [1]rail.RxFrame
	if _, err := b.Recv(in[:]); err != nil || in[0].From != want {
		t.Errorf("from %v, %v, want %v", in[0].From, err, want)
	}
}

// TestFirstFrameAfterDown: the kernel tells a socket once that its device was
// down; that costs no frame.
func TestFirstFrameAfterDown(t *testing.T) {
	na, nb := spaces(t, 1500)
	a, b := open(t, na, true), open(t, nb, true)
	for _, up := range []bool{false, true} {
		netnstest.SetUp(t, na, "r0", up)
		notice(t, a, func(i rail.Info) bool { return i.Carrier == up })
	}
	if n, err := a.Send([]rail.TxFrame{frame(b.Info().MAC, 100, 3)}); n != 1 || err != nil {
		t.Fatalf("Send: %d, %v", n, err)
	}
	if got := a.Stats(); got.TxErrors != 0 || got.TxFrames != 1 {
		t.Errorf("totals %+v, want one frame and no error", got)
	}
	if got := take(t, b); got != 3 {
		t.Errorf("got frame %d", got)
	}
}

// TestOldRingIsCounted: frames that nobody took before the MTU changed.
func TestOldRingIsCounted(t *testing.T) {
	na, nb := spaces(t, 1500)
	a, b := open(t, na, true), open(t, nb, true)
	for range 5 {
		if _, err := a.Send([]rail.TxFrame{frame(b.Info().MAC, 100, 1)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, ns := range []netns.NsHandle{na, nb} {
		netnstest.SetMTU(t, ns, "r0", 9000)
	}
	for _, d := range []*Device{a, b} {
		notice(t, d, func(i rail.Info) bool { return i.MTU == 9000 })
	}
	before := b.Info().Ring
	got := make(chan byte, 1)
	go func() { got <- take(t, b) }()
	notice(t, b, func(i rail.Info) bool { return i.Ring != before })
	if _, err := a.Send([]rail.TxFrame{frame(b.Info().MAC, 9000, 2)}); err != nil {
		t.Fatal(err)
	}
	if fill := <-got; fill != 2 {
		t.Errorf("got frame %d, want the large one", fill)
	}
	if st := b.Stats(); st.RxDropped != 5 || st.RxFrames != 1 {
		t.Errorf("totals %+v, want 5 dropped", st)
	}
}

func TestParseSlot(t *testing.T) {
	slot := func(length, snap uint32, mac uint16) []byte {
		b := make([]byte, 256)
		*(*uint32)(unsafe.Pointer(&b[slotLen])) = length
		*(*uint32)(unsafe.Pointer(&b[slotSnapLen])) = snap
		*(*uint16)(unsafe.Pointer(&b[slotMAC])) = mac
		return b
	}
	for _, c := range []struct {
		name string
		slot []byte
		want int // bytes after the Ethernet header, -1: refused
	}{
		{"whole", slot(100, 100, 66), 86},
		{"cut short", slot(300, 190, 66), -1},
		{"no Ethernet header", slot(13, 13, 66), -1},
		{"beyond the slot", slot(200, 200, 66), -1},
		{"header alone", slot(14, 14, 66), 0},
	} {
		f, ok := parseSlot(c.slot)
		if got := len(f.Data); ok != (c.want >= 0) || ok && got != c.want {
			t.Errorf("%s: %d bytes, %v, want %d", c.name, got, ok, c.want)
		}
	}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	ns := netnstest.New(t)
	for name, want := range map[string]string{"none0": "not found", "lo": "no Ethernet device"} {
		_, err := Open(Config{Interface: name, NetNS: int(ns)})
		var op *rail.OpError
		if !errors.As(err, &op) || op.Device != name || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an OpError with %q", name, err, want)
		}
	}
}

func TestGroup(t *testing.T) {
	na, nb := spaces(t, 1500)
	a, b := open(t, na, true), open(t, nb, true)
	if ga, gb := a.Info().Group, b.Info().Group; ga == 0 || ga == gb {
		t.Errorf("groups %d and %d of two devices", ga, gb)
	}
	d, err := Open(Config{Interface: "r0", NetNS: int(na), Group: 77})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if got := d.Info().Group; got != 77 {
		t.Errorf("group %d, want 77", got)
	}
}
