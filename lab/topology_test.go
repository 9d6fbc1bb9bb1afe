// SPDX-License-Identifier: Apache-2.0

package lab_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tbnet2/tbnet2/lab"
)

func TestBuilders(t *testing.T) {
	for name, tc := range map[string]struct {
		topo                   lab.Topology
		hosts, cables, segment int
	}{
		"pair":      {lab.Pair(2, 2), 2, 2, 0},
		"ring of 2": {lab.Ring(2), 2, 1, 0},
		"ring of 3": {lab.Ring(3), 3, 3, 0},
		"mesh of 4": {lab.Mesh(4), 4, 6, 0},
		"switched":  {lab.Switched(3, 2), 3, 0, 2},
		"30 hosts":  {lab.Ring(30), 30, 30, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if err := tc.topo.Validate(); err != nil {
				t.Errorf("Validate: %v", err)
			}
			got := [3]int{len(tc.topo.Hosts), len(tc.topo.Cables), len(tc.topo.Segments)}
			if want := [3]int{tc.hosts, tc.cables, tc.segment}; got != want {
				t.Errorf("hosts, cables, segments are %v, want %v", got, want)
			}
		})
	}
}

func TestTopologyJSONRoundTrip(t *testing.T) {
	want, err := lab.ParseSpecs(
		[]string{"a-b,name=left,rails=2,rate=2.5gbit,delay=50us,jitter=1.5ms,loss=0.0001%,burst=3,corrupt=1%,duplicate=100%,queue=64k,skew=10us,mtu=9000,mtu_b=1500",
			"b-c,model=tbf,rate=500mbit"},
		[]string{"a+b+c,rate=10gbit"})
	if err != nil {
		t.Fatalf("ParseSpecs: %v", err)
	}
	want.Seed = 7
	b, err := want.JSON()
	if err != nil {
		t.Fatalf("JSON: %v", err)
	}
	got, err := lab.ParseTopology(b)
	if err != nil {
		t.Fatalf("ParseTopology: %v\n%s", err, b)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("after a round trip (-want +got):\n%s", d)
	}
	for i, c := range want.Cables {
		again, err := lab.ParseCable(c.String())
		if err != nil || again != c {
			t.Errorf("cable %d: %q gives %+v, %v", i, c, again, err)
		}
	}
	for _, s := range want.Segments {
		again, err := lab.ParseSegment(s.String())
		if d := cmp.Diff(s, again); err != nil || d != "" {
			t.Errorf("segment %q: %v %s", s, err, d)
		}
	}
}

func TestBadTopologies(t *testing.T) {
	for _, tc := range []struct {
		name, json, want string
	}{
		{"no JSON", `{`, "unexpected EOF"},
		{"other schema", `{"schema_version":2,"hosts":[]}`, "schema_version is 2, this program reads 1"},
		{"unknown field", `{"schema_version":1,"host":[]}`, `unknown field "host"`},
		{"more behind it", `{"schema_version":1,"hosts":[{"name":"a"}]} x`, "something follows the JSON object"},
		{"bad rate", `{"schema_version":1,"cables":[{"rate":"fast"}]}`, `bad rate "fast": a rate is a number with bit, kbit, mbit or gbit`},
		{"no hosts", `{"schema_version":1}`, "topology: has no hosts"},
		{"bad name", `{"schema_version":1,"hosts":[{"name":"../x"}]}`, `host "../x": a name has 1 to 15 letters`},
		{"name twice", `{"schema_version":1,"hosts":[{"name":"a"},{"name":"a"}]}`, "host a: is named twice"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := lab.ParseTopology([]byte(tc.json))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q in it", err, tc.want)
			}
		})
	}
}

func TestBadSpecs(t *testing.T) {
	for _, tc := range []struct {
		name, cable, segment, want string
	}{
		{"no hosts", "rails=2", "", `it begins with two hosts`},
		{"itself", "a-a", "", `cable cable1: joins host "a" to itself`},
		{"no rails", "a-b,rails=-1", "", "cable cable1: rails is -1, 1 to 64 are allowed"},
		{"too many rails", "a-b,rails=65", "", "host a: has 65 rails, at most 64 are allowed"},
		{"no number", "a-b,rails=two", "", `"two" is no whole number`},
		{"small MTU", "a-b,mtu=100", "", "mtu is 100, 576 to 65535 are allowed"},
		{"large MTU", "a-b,mtu_b=65536", "", "mtu is 65536, 576 to 65535 are allowed"},
		{"unknown key", "a-b,speed=1", "", `unknown parameter "speed"; known are rate, delay`},
		{"no value", "a-b,rate", "", `"rate" is not key=value`},
		{"key twice", "a-b,rate=1gbit,rate=2gbit", "", "rate is given twice"},
		{"rate too high", "a-b,rate=100000gbit", "", "at most 10000gbit"},
		{"rate of fractions", "a-b,rate=0.5bit", "", `bad rate "0.5bit"`},
		{"negative delay", "a-b,delay=-5us", "", `bad time "-5us"`},
		{"long delay", "a-b,delay=11s", "", "at most 10s"},
		{"loss without %", "a-b,loss=0.1", "", `bad share "0.1": a share is a percentage`},
		{"loss above all", "a-b,loss=101%", "", `bad share "101%"`},
		{"queue too long", "a-b,queue=2g", "", `bad size "2g"`},
		{"unknown model", "a-b,model=magic", "", `unknown model "magic"; allowed are ["relay" "direct" "tbf"]`},
		{"direct with rate", "a-b,model=direct,rate=1gbit", "", `model "direct" cannot apply rate; use model "relay"`},
		{"tbf with delay", "a-b,model=tbf,rate=1gbit,delay=1ms", "", `model "tbf" cannot apply delay`},
		{"tbf too slow", "a-b,model=tbf,rails=2,rate=1mbit", "", `model "tbf" needs at least 1mbit for each rail`},
		{"long name", "a-b,name=cable-number-seventeen", "", "a name has 1 to 15 letters"},
		{"lonely segment", "", "a", "segment segment1: joins 1 hosts, at least 2 are needed"},
		{"host twice", "", "a+b+a", `segment segment1: names host "a" twice`},
		{"direct segment", "", "a+b,model=direct", `unknown model "direct"; allowed are ["relay" "tbf"]`},
		{"name of both", "a-b,name=x", "a+b,name=x", "segment x: the name is used twice"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var cables, segments []string
			if tc.cable != "" {
				cables = append(cables, tc.cable)
			}
			if tc.segment != "" {
				segments = append(segments, tc.segment)
			}
			_, err := lab.ParseSpecs(cables, segments)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q in it", err, tc.want)
			}
		})
	}
}

func TestEveryErrorIsTold(t *testing.T) {
	topo := lab.Pair(2, 1)
	topo.Cables[0].Rails, topo.Cables[1].MTU, topo.Cables[1].B = 0, 1, "c"
	err := topo.Validate()
	if err == nil {
		t.Fatal("no error")
	}
	got := strings.Split(err.Error(), "\n")
	want := []string{
		"cable cable1: rails is 0, 1 to 64 are allowed",
		`cable cable2: unknown host "c"`,
		"cable cable2: mtu is 1, 576 to 65535 are allowed",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("errors (-want +got):\n%s", d)
	}
}

func TestUnitsRoundTrip(t *testing.T) {
	for _, tc := range []struct{ in, out string }{
		{"10gbit", "10gbit"}, {"2500mbit", "2.5gbit"}, {"0", "0"}, {"0.001mbit", "1kbit"}, {"1bit", "1bit"},
	} {
		r, err := lab.ParseRate(tc.in)
		if err != nil || r.String() != tc.out {
			t.Errorf("rate %q: %q, %v, want %q", tc.in, r, err, tc.out)
		}
	}
	for _, tc := range []struct{ in, out string }{
		{"50us", "50us"}, {"0.05ms", "50us"}, {"1500us", "1.5ms"}, {"2s", "2s"}, {"0", "0"},
	} {
		d, err := lab.ParseTime(tc.in)
		if err != nil || d.String() != tc.out {
			t.Errorf("time %q: %q, %v, want %q", tc.in, d, err, tc.out)
		}
	}
	for _, tc := range []struct{ in, out string }{{"0.1%", "0.1%"}, {"100%", "100%"}, {"0", "0"}, {"0.0001%", "0.0001%"}} {
		p, err := lab.ParseShare(tc.in)
		if err != nil || p.String() != tc.out {
			t.Errorf("share %q: %q, %v, want %q", tc.in, p, err, tc.out)
		}
	}
	for _, tc := range []struct{ in, out string }{{"64k", "64k"}, {"1024", "1k"}, {"1500", "1500"}, {"1m", "1m"}} {
		z, err := lab.ParseSize(tc.in)
		if err != nil || z.String() != tc.out {
			t.Errorf("size %q: %q, %v, want %q", tc.in, z, err, tc.out)
		}
	}
}

func TestChanges(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"rate=5gbit,loss=1%", "rate=5gbit,loss=1%"},
		{"discard=on,from=a", "discard=on,from=a"},
		{"stall=200ms,delay=0", "delay=0,stall=200ms"},
		{"burst=4,loss=1%", "loss=1%,burst=4"},
		{"discard=yes", `error: bad change "discard=yes": discard is on or off, not "yes"`},
		{"from=a", `error: bad change "from=a": nothing to change is named`},
		{"", `error: bad change "": nothing to change is named`},
		{"queue=1k", `error: bad change "queue=1k": queue cannot be changed at run time`},
		{"mtu=1", `error: bad change "mtu=1": unknown parameter "mtu"`},
	} {
		ch, err := lab.ParseChange(tc.in)
		got := ch.String()
		if err != nil {
			got = "error: " + err.Error()
		}
		if !strings.HasPrefix(got, tc.want) || err == nil && got != tc.want {
			t.Errorf("%q: got %q, want %q", tc.in, got, tc.want)
		}
	}
}
