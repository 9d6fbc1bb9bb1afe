// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		in   []float64
		want float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 3, 2}, 2.5}} {
		before := append([]float64(nil), c.in...)
		if got := Median(c.in); got != c.want || !cmp.Equal(c.in, before) {
			t.Errorf("%v: got %v, want %v (now %v)", before, got, c.want, c.in)
		}
	}
}

func TestRatioAboveOneIsBetter(t *testing.T) {
	for _, c := range []struct {
		better             Better
		ours, theirs, want float64
	}{{Higher, 10, 5, 2}, {Higher, 5, 10, 0.5}, {Lower, 5, 10, 2}, {Lower, 10, 5, 0.5}, {Lower, 0, 5, 0}, {Higher, 5, 0, 0}} {
		if got := Ratio(c.better, c.ours, c.theirs); got != c.want {
			t.Errorf("%+v: got %v", c, got)
		}
	}
}

func TestCompareAlternates(t *testing.T) {
	var order []string
	run := func(name string, figures ...float64) Measure {
		n := 0
		return func() (float64, error) {
			order = append(order, name)
			n++
			return figures[n-1], nil
		}
	}
	row := Row{Case: "c", Metric: "latency", Unit: "us", Peer: "p", Simulated: true}
	got, err := Compare(row, Lower, 3, run("ours", 1, 100, 2), run("theirs", 8, 1, 9))
	if err != nil {
		t.Fatal(err)
	}
	if want := "ours theirs ours theirs ours theirs"; strings.Join(order, " ") != want {
		t.Errorf("order: got %v, want %s", order, want)
	}
	row.Ours, row.Theirs, row.Ratio, row.Runs = 2, 8, 4, 3
	if !cmp.Equal(got, row) {
		t.Errorf("got %+v, want %+v", got, row)
	}
}

func TestCompareRefuses(t *testing.T) {
	one := func() (float64, error) { return 1, nil }
	bad := func() (float64, error) { return 0, errors.New("broken") }
	row := Row{Case: "c", Metric: "m", Unit: "u", Peer: "p"}
	for _, c := range []struct {
		name, says string
		row        Row
		runs       int
		ours       Measure
	}{
		{"too few runs", "fewer than 3", row, 2, one},
		{"no peer", "peer's name", Row{Case: "c", Metric: "m", Unit: "u"}, 3, one},
		{"an error", "run 1: broken", row, 3, bad},
		{"no figure", "is no figure", row, 3, func() (float64, error) { return math.NaN(), nil }},
	} {
		if _, err := Compare(c.row, Higher, c.runs, c.ours, one); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.says)
		}
	}
}

func sample() *Report {
	r := New("core")
	r.Rows = []Row{
		{Case: "stripe+resequence", Metric: "ns_per_frame", Unit: "ns", Ours: 50, Peer: "chan-hop", Theirs: 100, Ratio: 2, Runs: 5},
		{Case: "stripe+resequence", Metric: "allocs_per_frame", Unit: "allocs", Ours: 0, Runs: 5},
		{Case: "a name with <markup> & \x01 that is far too long to be shown as a whole", Metric: "ns_per_frame", Unit: "ns", Ours: 25, Simulated: true, Runs: 3},
	}
	return r
}

func TestWriteAndRead(t *testing.T) {
	r := sample()
	path, err := r.Write(filepath.Join(t.TempDir(), "bench"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := Read(path)
	if err != nil || !cmp.Equal(got, r) {
		t.Errorf("got %v\n%s", err, cmp.Diff(r, got))
	}
}

// TestForm holds the keys that design and readers agree on.
func TestForm(t *testing.T) {
	data, err := json.Marshal(sample())
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		SchemaVersion int `json:"schema_version"`
		Bench         string
		Machine       map[string]any
		Rows          []map[string]any
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	keys := func(m map[string]any, names ...string) {
		t.Helper()
		for _, n := range names {
			if _, there := m[n]; !there {
				t.Errorf("%s is missing in %v", n, m)
			}
		}
		if len(m) != len(names) {
			t.Errorf("got %d keys, want %d: %v", len(m), len(names), m)
		}
	}
	keys(doc.Rows[0], "case", "metric", "unit", "ours", "peer", "theirs", "ratio", "simulated", "runs")
	keys(doc.Rows[1], "case", "metric", "unit", "ours", "simulated", "runs")
	if doc.SchemaVersion != 1 || doc.Bench != "core" || doc.Machine["cpus"] == nil {
		t.Errorf("got %+v", doc)
	}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name, says string
		spoil      func(*Report)
	}{
		{"version", "schema_version 2", func(r *Report) { r.SchemaVersion = 2 }},
		{"name", "no name", func(r *Report) { r.Bench = "" }},
		{"machine", "not described", func(r *Report) { r.Machine = Machine{} }},
		{"rows", "no rows", func(r *Report) { r.Rows = nil }},
		{"unit", "row 1: case, metric or unit", func(r *Report) { r.Rows[0].Unit = "" }},
		{"runs", "row 1: stripe+resequence: 2 runs are fewer", func(r *Report) { r.Rows[0].Runs = 2 }},
		{"nobody", "row 2: stripe+resequence: compared with nobody", func(r *Report) { r.Rows[1].Ratio = 2 }},
		{"no ratio", "without a ratio", func(r *Report) { r.Rows[0].Ratio = 0 }},
	} {
		r := sample()
		c.spoil(r)
		if err := r.Check(); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.says)
		}
	}
}

func TestTable(t *testing.T) {
	r := sample()
	r.Machine = Machine{CPU: "Some CPU", CPUs: 2, Kernel: "6.1", Go: "go1"}
	r.Rows = r.Rows[:2]
	r.Rows[1].Simulated = true
	var b bytes.Buffer
	if err := r.Table(&b); err != nil {
		t.Fatal(err)
	}
	want := `core on Some CPU, 2 CPUs, kernel 6.1, go1
CASE               METRIC            OURS      THEIRS  PEER      RATIO  RUNS  
stripe+resequence  ns_per_frame      50 ns     100 ns  chan-hop  2.00   5     
stripe+resequence  allocs_per_frame  0 allocs  -       -         -      5     simulated
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

// TestSVG reads the plot back: it is XML, has a bar for each figure whose
// length follows it, and says what is simulated.
func TestSVG(t *testing.T) {
	type bar struct {
		Width string `xml:"width,attr"`
		Fill  string `xml:"fill,attr"`
	}
	var doc struct {
		Bars  []bar    `xml:"rect"`
		Texts []string `xml:"text"`
	}
	d := xml.NewDecoder(bytes.NewReader(sample().SVG()))
	if err := d.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	for err := error(nil); err != io.EOF; {
		var tok xml.Token
		tok, err = d.Token()
		if text, blank := tok.(xml.CharData); tok != nil && (!blank || len(bytes.TrimSpace(text)) > 0) || err != nil && err != io.EOF {
			t.Fatalf("after the drawing: %v, %v", tok, err)
		}
	}
	want := []bar{{"100%", "white"}, {"200.0", oursColour}, {"400.0", theirsColour}, {"100.0", oursColour}, {"0.0", oursColour}}
	if !cmp.Equal(doc.Bars, want) {
		t.Errorf("bars: got %v, want %v", doc.Bars, want)
	}
	all := strings.Join(doc.Texts, "\n")
	for _, s := range []string{"core", "chan-hop 100 (ratio 2.00)", "<markup> &", "* simulated", "ns_per_frame (ns)"} {
		if !strings.Contains(all, s) {
			t.Errorf("%q is not in\n%s", s, all)
		}
	}
}
