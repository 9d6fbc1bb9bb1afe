// SPDX-License-Identifier: Apache-2.0

package railtest

import (
	"errors"
	"testing"
	"time"

	"github.com/tbnet2/tbnet2/rail"
)

// noticeWithin is how soon a device tells of a change of its link.
const noticeWithin = 100 * time.Millisecond

// backPressure: a narrow link refuses frames and loses none; WaitSend returns
// when there is room, and what was refused goes then.
func backPressure(t *testing.T, p Pair) {
	if p.Congest == nil {
		t.Skip("this link has no narrow place to fill")
	}
	p.Congest()
	in := reader(p.B)
	to := p.B.Info().MAC
	const most = 100_000
	sent := uint32(0)
	for busy := false; !busy; {
		n, err := p.A.Send([]rail.TxFrame{frame(to, sent, 1500), frame(to, sent+1, 1500)})
		sent += uint32(n)
		switch {
		case errors.Is(err, rail.ErrAgain):
			busy = true
		case err != nil:
			t.Fatal(err)
		case sent > most:
			t.Fatalf("the device took %d frames and never said ErrAgain", sent)
		}
	}
	if got := p.A.Stats().TxBusy; got == 0 {
		t.Error("TxBusy is 0 after ErrAgain")
	}
	p.Relax()
	for more := sent + 20; sent < more; {
		n, err := p.A.Send([]rail.TxFrame{frame(to, sent, 1500)})
		sent += uint32(n)
		if err != nil && !errors.Is(err, rail.ErrAgain) {
			t.Fatal(err)
		}
		if err != nil && waitSend(t, p.A) != nil {
			t.Fatal("WaitSend failed")
		}
	}
	arriveInOrder(t, p.B, in, sent)
	finish(t, p.B, in)
}

// arriveInOrder waits for frames 0 to n, less those that the receive ring had
// no room for.
func arriveInOrder(t *testing.T, d rail.Device, in <-chan received, n uint32) {
	t.Helper()
	got, next := uint32(0), uint32(0)
	deadline := time.After(patience)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for got+uint32(d.Stats().RxDropped) < n {
		select {
		case r := <-in:
			seq, err := sequence(rail.RxFrame{Data: r.data})
			if r.err != nil || err != nil || seq < next {
				t.Fatalf("got frame %d after %d: %v, %v", seq, next, r.err, err)
			}
			got, next = got+1, seq+1
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%d frames arrived, %d were dropped by the ring, %d sent", got, d.Stats().RxDropped, n)
		}
	}
	if total := uint64(got) + d.Stats().RxDropped; total != uint64(n) {
		t.Errorf("%d frames arrived or were dropped, %d sent", total, n)
	}
}

// waitSend fails where WaitSend does not return.
func waitSend(t *testing.T, d rail.Device) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- d.WaitSend() }()
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		t.Fatal("WaitSend does not return though there is room")
	}
	return nil
}

// closeWakesRecv: Close ends a Recv that waits, and all later calls fail.
func closeWakesRecv(t *testing.T, p Pair) {
	in := reader(p.A)
	// A frame from the other side shows that the reader runs.
	if err := sendAll(p.B, []rail.TxFrame{frame(p.A.Info().MAC, 0, 100)}); err != nil {
		t.Fatal(err)
	}
	expect(t, in, 0, 100)
	if err := p.A.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case r := <-in:
		if !errors.Is(r.err, rail.ErrClosed) {
			t.Errorf("Recv: %v, want ErrClosed", r.err)
		}
	case <-time.After(patience):
		t.Fatal("Close does not wake Recv")
	}
	if _, err := p.A.Recv(make([]rail.RxFrame, 1)); !errors.Is(err, rail.ErrClosed) {
		t.Errorf("Recv after Close: %v", err)
	}
	if n, err := p.A.Send([]rail.TxFrame{frame(p.B.Info().MAC, 0, 100)}); n != 0 || !errors.Is(err, rail.ErrClosed) {
		t.Errorf("Send after Close: %d, %v", n, err)
	}
	if err := p.A.WaitSend(); !errors.Is(err, rail.ErrClosed) {
		t.Errorf("WaitSend after Close: %v", err)
	}
}

// closeWakesWaitSend: Close ends a WaitSend on a full device.
func closeWakesWaitSend(t *testing.T, p Pair) {
	if p.Congest == nil {
		t.Skip("this link has no narrow place to fill")
	}
	p.Congest()
	to := p.B.Info().MAC
	for {
		if _, err := p.A.Send([]rail.TxFrame{frame(to, 0, 1500)}); err != nil {
			break
		}
	}
	done := make(chan error, 1)
	go func() { // until Close: there is room now and then
		for {
			if err := p.A.WaitSend(); err != nil {
				done <- err
				return
			}
			for {
				if _, err := p.A.Send([]rail.TxFrame{frame(to, 0, 1500)}); err != nil {
					break
				}
			}
		}
	}()
	if err := p.A.Close(); err != nil {
		t.Error(err)
	}
	select {
	case err := <-done:
		if !errors.Is(err, rail.ErrClosed) {
			t.Errorf("WaitSend: %v, want ErrClosed", err)
		}
	case <-time.After(patience):
		t.Fatal("Close does not wake WaitSend")
	}
}

// closeTwice: Close may be called again, and at the same time.
func closeTwice(t *testing.T, p Pair) {
	done := make(chan error, 4)
	for range cap(done) {
		go func() { done <- p.A.Close() }()
	}
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if err := p.A.Close(); err != nil {
		t.Error(err)
	}
	_ = p.A.Info() // must not fail
	_ = p.A.Stats()
}

// closeUnderLoad: Close comes while others send, receive and look.
func closeUnderLoad(t *testing.T, p Pair) {
	in := reader(p.A)
	to := p.B.Info().MAC
	stopped := make(chan error, 2)
	go func() {
		for {
			if err := sendAll(p.A, []rail.TxFrame{frame(to, 0, 100)}); err != nil {
				stopped <- err
				return
			}
		}
	}()
	go func() {
		for p.A.Stats().TxFrames < 50 {
			_ = p.A.Info()
		}
		stopped <- p.A.Close()
	}()
	for range 2 {
		select {
		case err := <-stopped:
			if err != nil && !errors.Is(err, rail.ErrClosed) {
				t.Error(err)
			}
		case <-time.After(patience):
			t.Fatal("Send goes on after Close")
		}
	}
	finish(t, p.A, in)
}

// carrier: its loss and return are told at once, nothing crosses meanwhile,
// and frames cross after it.
func carrier(t *testing.T, p Pair) {
	if p.SetCarrier == nil {
		t.Skip("this link has no carrier to take away")
	}
	in := reader(p.B)
	to := p.B.Info().MAC
	for round := range uint32(3) {
		for _, up := range []bool{false, true} {
			p.SetCarrier(up)
			for _, d := range []rail.Device{p.A, p.B} {
				notice(t, d, func(i rail.Info) bool { return i.Carrier == up })
			}
			if !up {
				before := p.A.Stats().TxErrors
				eventually(t, "a frame without carrier counts as an error", patience, func() bool {
					_, err := p.A.Send([]rail.TxFrame{frame(to, 999, 100)})
					if err != nil && !errors.Is(err, rail.ErrAgain) {
						t.Fatal(err)
					}
					return p.A.Stats().TxErrors > before
				})
			}
		}
		if err := sendAll(p.A, []rail.TxFrame{frame(to, round, 100)}); err != nil {
			t.Fatal(err)
		}
		expect(t, in, round, 100)
	}
	finish(t, p.B, in)
}

// notice waits for Changed until Info fits.
func notice(t *testing.T, d rail.Device, fits func(rail.Info) bool) {
	t.Helper()
	deadline := time.After(noticeWithin)
	for !fits(d.Info()) {
		select {
		case <-d.Changed():
		case <-deadline:
			t.Fatalf("no change told within %v: %+v", noticeWithin, d.Info())
		}
	}
}

// mtu: a new MTU is told, and holds for both directions, while frames flow.
func mtu(t *testing.T, p Pair) {
	if p.SetMTU == nil {
		t.Skip("this link has one MTU")
	}
	in := reader(p.B)
	to := p.B.Info().MAC
	first := p.B.Info().MTU
	for round, size := range []int{1280, 1500, 9000, 1280, first} {
		p.SetMTU(size)
		for _, d := range []rail.Device{p.A, p.B} {
			notice(t, d, func(i rail.Info) bool { return i.MTU == size && i.Ring >= size })
		}
		seq := uint32(round)
		// The ring is made anew when Recv sees the change; until then a frame
		// may be lost, as on any link.
		eventually(t, "a frame of the new size arrives", patience, func() bool {
			if err := sendAll(p.A, []rail.TxFrame{frame(to, seq, size)}); err != nil {
				t.Fatal(err)
			}
			select {
			case r := <-in:
				got, err := sequence(rail.RxFrame{Data: r.data})
				return err == nil && r.err == nil && got == seq && len(r.data) == size
			case <-time.After(20 * time.Millisecond):
				return false
			}
		})
	}
	finish(t, p.B, in)
}
