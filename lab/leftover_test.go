// SPDX-License-Identifier: Apache-2.0

package lab_test

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tbnet2/tbnet2/lab"
)

// traces are what a lab might leave behind. Only this process's own are looked
// at, since others on the machine make namespaces too.
type traces struct {
	namespaces int // that a thread or a descriptor holds
	links      int // named as a lab's
	files      int
	named      int // in `ip netns`, by this file's tests
}

func look(t *testing.T) traces {
	t.Helper()
	var m traces
	seen := map[string]bool{}
	for _, pattern := range []string{"/proc/self/task/*/ns/net", "/proc/self/fd/*"} {
		for _, p := range glob(t, pattern) {
			if to, err := os.Readlink(p); err == nil && strings.HasPrefix(to, "net:") {
				seen[to] = true
			}
		}
	}
	links, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	ours := regexp.MustCompile(`^(rail\d+|m\d+[abp]|[bs]\d+)$`)
	for _, l := range links {
		if ours.MatchString(l.Name) {
			m.links++
		}
	}
	m.namespaces, m.files = len(seen), len(glob(t, "/proc/self/fd/*"))
	m.named = len(glob(t, "/run/netns/tbnet2-failing-*"))
	return m
}

// within reports whether there is no more than in m. Less may be: what earlier
// tests had open goes when its other end does.
func (n traces) within(m traces) bool {
	return n.namespaces <= m.namespaces && n.links <= m.links && n.files <= m.files && n.named <= m.named
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func TestNothingIsLeft(t *testing.T) {
	mode := netMode(t)
	topo := lab.Pair(2, 1)
	topo.Cables[1].Model = lab.Direct
	topo.Segments = []lab.Segment{{Hosts: []string{"a", "b"}}}
	build(t, topo, mode) // what is opened once, such as the poller, is open now
	before := look(t)
	for range 50 {
		l, err := lab.New(t.Context(), topo, mode)
		if err != nil {
			t.Fatalf("New: %v", err)
		}
		if err := l.Close(); err != nil {
			t.Fatalf("Close: %v", err)
		}
		if err := l.Close(); err != nil {
			t.Fatalf("second Close: %v", err)
		}
	}
	var after traces
	if err := poll("no more than before", func() bool { after = look(t); return after.within(before) }); err != nil {
		t.Errorf("after 50 labs: %+v, before: %+v", after, before)
	}
}

func TestFailedBuildLeavesNothing(t *testing.T) {
	mode := netMode(t)
	build(t, lab.Pair(1, 1), mode) // what is opened once, such as the poller, is open now
	before := look(t)
	topo := lab.Pair(1, 2)
	topo.Hosts[1].Name = "taken"
	topo.Cables[0].B = "taken"
	if mode == lab.ModeNamespaces {
		path := "/run/netns/tbnet2-failing-taken"
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o444); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Remove(path) })
		before = look(t)
		dir := stateDir(t)
		err := lab.Serve(t.Context(), lab.ServeOptions{Name: "failing", Dir: dir, Topology: topo, Mode: mode})
		if err == nil {
			t.Fatal("Serve succeeds where a name is taken")
		}
	}
	eventually(t, "no more than before", func() bool { return look(t).within(before) })
}
