// SPDX-License-Identifier: Apache-2.0

package userstack_test

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/tbnet2/tbnet2/rail/model"
)

// TestRepliesCarryAcknowledgements: in requests and replies nearly no packet
// is an acknowledgement alone, and none of them is late for the other side.
func TestRepliesCarryAcknowledgements(t *testing.T) {
	a, b, _ := pair(t, 1, 9000, model.Params{}, nil)
	x, y := connect(t, a, b, "tcp", "10.0.0.2:9001")
	const exchanges = 2000
	done := make(chan error, 1)
	go func() { done <- echo(y, exchanges) }()
	before := a.Stats()
	buf := make([]byte, 64)
	for range exchanges {
		if _, err := x.Write(buf); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(x, buf); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	after := a.Stats()
	segments, replaced := after.TCPSegments-before.TCPSegments, after.AcksReplaced-before.AcksReplaced
	if sent := segments - replaced; sent > exchanges*5/4 {
		t.Errorf("got %d segments sent in %d exchanges, want hardly more than one each", sent, exchanges)
	}
	if after.TCPRetransmits != before.TCPRetransmits {
		t.Errorf("%d retransmits", after.TCPRetransmits-before.TCPRetransmits)
	}
}

func echo(c net.Conn, n int) error {
	buf := make([]byte, 64)
	for range n {
		if _, err := io.ReadFull(c, buf); err != nil {
			return err
		}
		if _, err := c.Write(buf); err != nil {
			return err
		}
	}
	return nil
}

// TestHeldAcknowledgementLeaves: where no reply comes, the sender hears of its
// data all the same, before it would send it again.
func TestHeldAcknowledgementLeaves(t *testing.T) {
	a, b, _ := pair(t, 1, 9000, model.Params{}, nil)
	x, y := connect(t, a, b, "tcp", "10.0.0.2:9002")
	before := a.Stats()
	buf := make([]byte, 64)
	if err := x.SetReadDeadline(time.Now().Add(time.Second)); err != nil { // several of netstack's least timeouts
		t.Fatal(err)
	}
	for range 3 {
		if _, err := x.Write(buf); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(y, buf); err != nil {
			t.Fatal(err)
		}
	}
	var timeout net.Error
	if _, err := x.Read(buf); !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Fatalf("got %v, want the deadline", err)
	}
	if after := a.Stats(); after.TCPRetransmits != before.TCPRetransmits {
		t.Errorf("%d retransmits", after.TCPRetransmits-before.TCPRetransmits)
	}
}
