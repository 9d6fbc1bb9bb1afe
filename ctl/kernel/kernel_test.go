// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/genetlink/genltest"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/tbnet2/tbnet2/ctl"
)

var _ ctl.Backend = (*Backend)(nil)

// TestStatus: what the module and rtnetlink tell becomes the ctl model.
func TestStatus(t *testing.T) {
	_, b := newModule(t)
	s, err := b.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if s.Host.Name != "bob" || s.Host.UUID != bob.String() || s.Host.Backend != "kernel" || s.Host.Started.Unix() != 1e9 {
		t.Errorf("host %+v", s.Host)
	}
	if len(s.Bonds) != 1 || s.Bonds[0].Name != "tbbond0" || !slices.Equal(s.Bonds[0].Peers, []string{"alice"}) ||
		s.Bonds[0].MTU != 65520 || s.Bonds[0].RateBPS != 80e9 || !slices.Equal(s.Bonds[0].Addresses, []string{"10.0.0.1/24"}) {
		t.Errorf("bonds %+v", s.Bonds)
	}
	if len(s.Peers) != 1 || s.Peers[0].State != ctl.PeerConnected || !slices.Equal(s.Peers[0].Rails, []string{"tbr0", "tbr1"}) || s.Peers[0].RTTNS != 25000 {
		t.Errorf("peers %+v", s.Peers)
	}
	if len(s.Rails) != 3 || s.Rails[0].State != ctl.RailUp || s.Rails[0].Peer != "alice" || s.Rails[0].MTU != 9000 ||
		s.Rails[2].State != ctl.RailUnpaired || s.Rails[2].Reason != "nobody answers" || s.Rails[2].Carrier {
		t.Errorf("rails %+v", s.Rails)
	}
	if !slices.Equal(s.Drops, []ctl.Drop{{Reason: "crc", Count: 3}}) {
		t.Errorf("drops %+v", s.Drops)
	}
}

// TestCounters: every counter lands in the field of its name.
func TestCounters(t *testing.T) {
	_, b := newModule(t)
	s, err := b.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	inOrder(t, reflect.ValueOf(s.Rails[0].Counters), uint64(RailTxFrames))
	inOrder(t, reflect.ValueOf(s.Peers[0].Counters), uint64(PeerTxPackets))
}

// inOrder wants the fields of a struct to count up from first: the fake sends
// each attribute's own number, and the header lists counters as ctl does.
func inOrder(t *testing.T, v reflect.Value, first uint64) {
	t.Helper()
	for i := range v.NumField() {
		if got := v.Field(i).Uint(); got != first+uint64(i) {
			t.Errorf("%s is %d, want %d", v.Type().Field(i).Name, got, first+uint64(i))
		}
	}
}

// TestTornDump: a dump that changes overtook is repeated, and not for ever.
func TestTornDump(t *testing.T) {
	m, b := newModule(t)
	m.torn = 3
	if _, err := b.Status(t.Context()); err != nil {
		t.Errorf("after three torn dumps: %v", err)
	}
	m.torn = 1 << 30
	if _, err := b.Status(t.Context()); ctl.CodeOf(err) != ctl.CodeBusy {
		t.Errorf("for ever torn: %v", err)
	}
}

func TestSetRails(t *testing.T) {
	m, b := newModule(t)
	in, err := b.SetRails(t.Context(), ctl.RailSet{Target: "alice", Rails: []ctl.RailChoice{{Name: "tbr1", Weight: 5}, {Name: "tbr0"}}})
	if err != nil {
		t.Fatal(err)
	}
	want := []use{{alice, map[uint32]uint32{tbr1: 5, tbr0: 0}}}
	if !reflect.DeepEqual(m.used, want) {
		t.Errorf("the module was told %v, want %v", m.used, want)
	}
	if len(in.Peers) != 1 || in.Peers[0].Peer != "alice" || len(in.Peers[0].Rails) != 2 {
		t.Errorf("in use: %+v", in)
	}
	if _, err := b.SetRails(t.Context(), ctl.RailSet{Target: "alice", Rails: []ctl.RailChoice{{Name: "tbr2"}}}); ctl.CodeOf(err) != ctl.CodeNotFound {
		t.Errorf("a rail to nobody: %v", err)
	}
}

func TestSetRailUp(t *testing.T) {
	m, b := newModule(t)
	for _, up := range []bool{false, true} {
		if err := b.SetRailUp(t.Context(), "tbr1", up); err != nil || m.set[tbr1] != up {
			t.Errorf("up %v: %v, the module has %v", up, err, m.set)
		}
	}
	if err := b.SetRailUp(t.Context(), "eth0", true); ctl.CodeOf(err) != ctl.CodeNotFound {
		t.Errorf("no rail: %v", err)
	}
}

// TestSetBond: a step that fails takes back those before it.
func TestSetBond(t *testing.T) {
	m, b := newModule(t)
	if err := b.SetBond(t.Context(), ctl.BondChange{Name: "tbbond0", MTU: 9000, Addresses: []string{"10.0.1.1/24"}}); err != nil {
		t.Fatal(err)
	}
	before := m.links[tbbond0]
	if before.mtu != 9000 || !slices.Equal(before.addresses, []string{"10.0.0.1/24", "10.0.1.1/24"}) {
		t.Errorf("after the change: %+v", before)
	}
	err := b.SetBond(t.Context(), ctl.BondChange{Name: "tbbond0", MTU: 1500, Addresses: []string{"10.0.2.1/24", "192.0.2.1/24"}})
	if ctl.CodeOf(err) == "" || !reflect.DeepEqual(m.links[tbbond0], before) {
		t.Errorf("after a refused change (%v): %+v, want %+v", err, m.links[tbbond0], before)
	}
}

// TestRefusals: the kernel's errors get codes, and words where it has none.
func TestRefusals(t *testing.T) {
	for errno, want := range map[unix.Errno]ctl.Code{unix.EPERM: ctl.CodeDenied, unix.EINVAL: ctl.CodeInvalid,
		unix.ENODEV: ctl.CodeNotFound, unix.EOPNOTSUPP: ctl.CodeUnsupported, unix.EIO: ctl.CodeInternal} {
		m, b := newModule(t)
		m.refuse = genltest.Error(int(errno))
		if err := b.SetRailUp(t.Context(), "tbr0", false); ctl.CodeOf(err) != want {
			t.Errorf("%v: code %s, want %s", errno, ctl.CodeOf(err), want)
		}
	}
	err := refusal(&netlink.OpError{Err: unix.EINVAL, Message: "tbr1 leads to carol"})
	if ctl.CodeOf(err) != ctl.CodeInvalid || err.Error() != "tbr1 leads to carol" {
		t.Errorf("the module's own words: %v", err)
	}
}

// TestNoModule: who has not loaded it is told how.
func TestNoModule(t *testing.T) {
	_, b := newModule(t)
	b.dial = func() (conn, error) {
		return genltest.Dial(func(genetlink.Message, netlink.Message) ([]genetlink.Message, error) {
			return nil, genltest.Error(int(unix.ENOENT))
		}), nil
	}
	if b.Present() {
		t.Error("a module that is not loaded is present")
	}
	_, err := b.Status(t.Context())
	if ctl.CodeOf(err) != ctl.CodeNoDaemon || !strings.Contains(err.Error(), "modprobe tbnet2") {
		t.Errorf("no module: %v", err)
	}
}

// TestEvents: every kind gets its sentence, and lost events are told.
func TestEvents(t *testing.T) {
	rail := answer(AttrEvent, func(e *encoder) {
		e.Uint64(EventTime, 1e18)
		e.Uint8(EventKind, 0)
		e.String(EventPeer, "alice")
		e.String(EventRail, "tbr0")
		e.Uint8(EventState, 4)
		e.String(EventReason, "carrier lost")
	})[0]
	rail.Header.Command = CmdEvent
	gone := answer(AttrEvent, func(e *encoder) {
		e.Uint8(EventKind, 1)
		e.String(EventPeer, "alice")
		e.Uint8(EventState, 1)
	})[0]
	gone.Header.Command = CmdEvent
	src := feed{rail, &netlink.OpError{Err: unix.ENOBUFS}, gone}
	var got []ctl.Event
	err := listen(context.Background(), &src, func(e ctl.Event) error {
		got = append(got, e)
		return nil
	})
	if err == nil {
		t.Error("the end of the source is no error")
	}
	if len(got) != 3 || got[0].Message != "rail tbr0 to alice is down: carrier lost" || got[0].State != "down" ||
		got[1].Kind != ctl.EventMissed || got[2].Message != "peer alice is lost" {
		t.Errorf("events %+v", got)
	}
	stop := errors.New("enough")
	src = feed{rail}
	if err := listen(context.Background(), &src, func(ctl.Event) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("the caller's error became %v", err)
	}
}

// TestUnknownState: a module to come may send a number that is not known.
func TestUnknownState(t *testing.T) {
	if s := name(railStates, 200); s != ctl.RailUnpaired {
		t.Errorf("unknown state is %q", s)
	}
}
