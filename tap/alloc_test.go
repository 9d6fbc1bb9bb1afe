// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"net"
	"testing"

	"github.com/vishvananda/netlink"

	"github.com/tbnet2/tbnet2/rail/netnstest"
	"github.com/tbnet2/tbnet2/transport"
)

// sink is a port that is done with each packet at once.
type sink struct {
	*pipe
	packets int
}

func (s *sink) Send(p *transport.Packet) error {
	s.packets++
	p.Done(p, transport.Sent)
	return nil
}

func TestSendAllocatesNothing(t *testing.T) {
	a := newHost(t, "10.77.0.1")
	a.open(a.config())
	if err := a.dev.setCarrier(true); err != nil {
		t.Fatal(err)
	}
	a.waitOper(netlink.OperUp)
	var from net.Conn
	netnstest.Do(t, a.ns, func() (err error) {
		from, err = net.Dial("udp", "10.77.0.255:9")
		return err
	})
	defer from.Close()
	port := &sink{pipe: newPipe(1)}
	s := newSender(a.dev, port)
	datagram := make([]byte, 1000)
	allocs := testing.AllocsPerRun(200, func() {
		if _, err := from.Write(datagram); err != nil {
			t.Fatal(err)
		}
		if err := s.step(); err != nil {
			t.Fatal(err)
		}
	})
	if allocs != 0 {
		t.Errorf("got %v allocations per frame, want 0", allocs)
	}
	if port.packets < 200 {
		t.Errorf("got %d packets, want at least 200", port.packets)
	}
}

func TestReceiveAllocatesNothing(t *testing.T) {
	a := newHost(t, "10.77.0.1")
	a.open(a.config())
	r := newReceiver(a.dev, newPipe(1))
	f, o := frame4(0, 60000)
	batch := []transport.Delivery{{Data: f, Offload: o, HasOffload: true}, {Data: f[:1000]}}
	if allocs := testing.AllocsPerRun(200, func() { r.deliver(batch) }); allocs != 0 {
		t.Errorf("got %v allocations per batch, want 0", allocs)
	}
	if s := a.dev.Stats(); s.RxPackets < 400 || s.drops() != 0 {
		t.Errorf("want at least 400 packets taken and no drop: %+v", s)
	}
}
