// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestFormats(t *testing.T) {
	for _, c := range [][2]string{
		{rate(0), "-"}, {rate(999), "999 b/s"}, {rate(1000), "1.00 kb/s"}, {rate(12_340_000), "12.3 Mb/s"}, {rate(40e9), "40.0 Gb/s"}, {rate(123_400_000_000), "123 Gb/s"},
		{rate(999_600), "1.00 Mb/s"}, {size(0), "0 B"}, {size(16e6), "16.0 MB"},
		{span(0), "0s"}, {span(1500), "1.5µs"}, {span(40_000), "40µs"}, {span(12_345_678), "12.35ms"}, {span(3_456_000_000), "3.46s"},
		{plural(1, "rail"), "1 rail"}, {plural(4, "rail"), "4 rails"}, {list(nil), "-"},
	} {
		if c[0] != c[1] {
			t.Errorf("got %q, want %q", c[0], c[1])
		}
	}
}

// TestManualPages has a page for each command; man itself checks them where it
// is installed.
func TestManualPages(t *testing.T) {
	dir := t.TempDir()
	tool := newTool()
	if code, _, errs := tool.do("manual " + dir); code != 0 {
		t.Fatalf("exit %d, %s", code, errs)
	}
	data, err := os.ReadFile(filepath.Join(dir, "tbnetctl-rails-set.8"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{".TH TBNETCTL-RAILS-SET 8", ".B tbnetctl rails set PEER|BOND", `.B \-\-count N`, `.BR tbnetctl\-rails (8)`, "tbr0,tbr1=2"} {
		if !strings.Contains(string(data), want) {
			t.Errorf("%q is not in\n%s", want, data)
		}
	}
	pages, _ := filepath.Glob(filepath.Join(dir, "*.8"))
	if len(pages) < 25 {
		t.Errorf("only %d pages", len(pages))
	}
	if _, err := exec.LookPath("groff"); err != nil {
		return
	}
	if out, err := exec.Command("groff", append([]string{"-man", "-ww", "-z"}, pages...)...).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v: %s", err, out)
	}
}

func TestCompletions(t *testing.T) {
	tool := newTool()
	for shell, want := range map[string]string{"bash": "__start_tbnetctl", "zsh": "#compdef tbnetctl", "fish": "complete -c tbnetctl"} {
		if code, out, _ := tool.do("completion " + shell); code != 0 || !strings.Contains(out, want) {
			t.Errorf("%s: exit %d, no %q", shell, code, want)
		}
	}
	code, out, _ := tool.do("__complete rails s")
	if code != 0 || !strings.Contains(out, "set\t") {
		t.Errorf("exit %d, %s", code, out)
	}
}
