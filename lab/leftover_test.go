// SPDX-License-Identifier: Apache-2.0

package lab_test

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/tbnet2/tbnet2/lab"
)

// machine is what a lab might leave behind.
type machine struct {
	namespaces int // that any process or named file holds, as seen from here
	links      int
	files      int
	named      int
}

func look(t *testing.T) machine {
	t.Helper()
	var m machine
	seen := map[string]bool{}
	for _, pattern := range []string{"/proc/[0-9]*/task/*/ns/net", "/proc/self/fd/*"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range paths {
			if to, err := os.Readlink(p); err == nil && len(to) > 4 && to[:4] == "net:" {
				seen[to] = true
			}
		}
	}
	m.namespaces = len(seen)
	links, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	m.links = len(links)
	for _, x := range []struct {
		dir string
		n   *int
	}{{"/proc/self/fd", &m.files}, {"/run/netns", &m.named}} {
		entries, err := os.ReadDir(x.dir)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		*x.n = len(entries)
	}
	return m
}

func TestNothingIsLeft(t *testing.T) {
	mode := netMode(t)
	topo := lab.Pair(2, 2)
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
	var after machine
	eventually(t, "as before", func() bool { after = look(t); return after == before })
}

func TestFailedBuildLeavesNothing(t *testing.T) {
	mode := netMode(t)
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
	eventually(t, "as before", func() bool { return look(t) == before })
}
