// SPDX-License-Identifier: Apache-2.0

package ctl_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tbnet2/tbnet2/ctl"
	"github.com/tbnet2/tbnet2/ctl/ctlfake"
)

func TestParseRails(t *testing.T) {
	cases := []struct {
		list string
		want []ctl.RailChoice
		says string
	}{
		{"tbr0", []ctl.RailChoice{{Name: "tbr0"}}, ""},
		{"tbr0,tbr1=2", []ctl.RailChoice{{Name: "tbr0"}, {Name: "tbr1", Weight: 2}}, ""},
		{"tbr0, tbr1=1000", []ctl.RailChoice{{Name: "tbr0"}, {Name: "tbr1", Weight: 1000}}, ""},
		{"", nil, "item 1: no rail name"},
		{"tbr0,", nil, "item 2: no rail name"},
		{"tbr0,=3", nil, "item 2: no rail name"},
		{"tbr0=0", nil, `item 1: weight "0" of tbr0 is not a number from 1 to 1000`},
		{"tbr0=1001", nil, "not a number from 1 to 1000"},
		{"tbr0=fast", nil, `weight "fast"`},
		{"tbr0=-1", nil, `weight "-1"`},
		{"tbr0=1=2", nil, `weight "1=2"`},
		{"a b", nil, "is no rail name"},
		{"tbr0,tbr1,tbr0=2", nil, "item 3: tbr0 is named twice"},
	}
	for _, c := range cases {
		t.Run(c.list, func(t *testing.T) {
			got, err := ctl.ParseRails(c.list)
			if c.says == "" {
				if err != nil || !cmp.Equal(got, c.want) {
					t.Fatalf("got %v, %v; want %v", got, err, c.want)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.says) || ctl.CodeOf(err) != ctl.CodeInvalid {
				t.Fatalf("got %v, error %v; want an error with %q", got, err, c.says)
			}
		})
	}
}

func TestResolve(t *testing.T) {
	names := func(n ...string) []ctl.RailChoice {
		var out []ctl.RailChoice
		for _, s := range n {
			out = append(out, ctl.RailChoice{Name: s})
		}
		return out
	}
	cases := []struct {
		name string
		set  ctl.RailSet
		want []ctl.RailChoice
		says string
	}{
		{"by peer", ctl.RailSet{Target: "node2", Rails: names("tbr1", "tbr0")}, names("tbr1", "tbr0"), ""},
		{"by uuid", ctl.RailSet{Target: "22222222-2222-4222-8222-222222222222", Rails: names("tbr1")}, names("tbr1"), ""},
		{"by bond", ctl.RailSet{Target: "tbbond0", Count: 1}, names("tbr0"), ""},
		{"best three leave out the one that is down", ctl.RailSet{Target: "node2", Count: 3}, names("tbr0", "tbr1", "tbr2"), ""},
		{"all four", ctl.RailSet{Target: "node2", Count: 4}, names("tbr0", "tbr1", "tbr2", "tbr3"), ""},
		{"too many", ctl.RailSet{Target: "node2", Count: 5}, nil, "count 5: node2 has 4 rails (tbr0, tbr1, tbr2, tbr3)"},
		{"negative", ctl.RailSet{Target: "node2", Count: -1}, nil, "count -1"},
		{"unknown target", ctl.RailSet{Target: "nobody", Count: 1}, nil, `no peer or bond "nobody" (there are: tbbond0, node2)`},
		{"unknown rail", ctl.RailSet{Target: "node2", Rails: names("tbr9")}, nil, `no rail "tbr9" here (there are: tbr0`},
		{"no peer's rail", ctl.RailSet{Target: "node2", Rails: names("eth1")}, nil, `no rail "eth1" here`},
		{"twice", ctl.RailSet{Target: "node2", Rails: names("tbr0", "tbr0")}, nil, "named twice"},
		{"neither", ctl.RailSet{Target: "node2"}, nil, "one of the two"},
		{"both", ctl.RailSet{Target: "node2", Rails: names("tbr0"), Count: 1}, nil, "one of the two"},
		{"weight", ctl.RailSet{Target: "node2", Rails: []ctl.RailChoice{{Name: "tbr0", Weight: -2}}}, nil, "weight -2"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := ctlfake.Sample()
			got, err := s.Resolve(c.set)
			if c.says != "" {
				if err == nil || !strings.Contains(err.Error(), c.says) {
					t.Fatalf("got %v, error %v; want an error with %q", got, err, c.says)
				}
				return
			}
			want := []ctl.PeerRails{{Peer: "node2", Rails: c.want}}
			if err != nil || !cmp.Equal(got, want) {
				t.Fatalf("got %v, %v; want %v", got, err, want)
			}
		})
	}
}

func TestResolveBondCutsNobodyOff(t *testing.T) {
	s := ctlfake.Sample()
	s.Peers = append(s.Peers, ctl.Peer{Name: "node3", UUID: "3", Rails: []string{"tbr8"}})
	s.Rails = append(s.Rails, ctl.Rail{Name: "tbr8", Peer: "node3", State: ctl.RailUp, Enabled: true})
	s.Bonds[0].Peers = []string{"node2", "node3"}
	_, err := s.Resolve(ctl.RailSet{Target: "tbbond0", Rails: []ctl.RailChoice{{Name: "tbr0"}}})
	if err == nil || !strings.Contains(err.Error(), "node3") {
		t.Fatalf("got error %v, want one that names node3", err)
	}
	_, err = s.Resolve(ctl.RailSet{Target: "node2", Rails: []ctl.RailChoice{{Name: "tbr8"}}})
	if want := "rail tbr8 leads to node3, not to node2"; err == nil || err.Error() != want {
		t.Fatalf("got error %v, want %q", err, want)
	}
}

// TestResolveSwitchedDevice has one device that is a rail to two peers.
func TestResolveSwitchedDevice(t *testing.T) {
	s := ctlfake.Sample()
	s.Peers = append(s.Peers, ctl.Peer{Name: "node3", UUID: "3", Rails: []string{"tbr0"}})
	s.Rails = append(s.Rails, ctl.Rail{Name: "tbr0", Peer: "node3", PeerUUID: "3", State: ctl.RailUp, Enabled: true, Weight: 5})
	s.Bonds[0].Peers = []string{"node2", "node3"}
	got, err := s.Resolve(ctl.RailSet{Target: "tbbond0", Rails: []ctl.RailChoice{{Name: "tbr0"}}})
	want := []ctl.PeerRails{{Peer: "node2", Rails: []ctl.RailChoice{{Name: "tbr0"}}}, {Peer: "node3", Rails: []ctl.RailChoice{{Name: "tbr0"}}}}
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
	got, err = s.Resolve(ctl.RailSet{Target: "node3", Count: 1})
	if err != nil || got[0].Rails[0].Weight != 5 {
		t.Errorf("got %v, %v; want node3's own rail of weight 5", got, err)
	}
}
