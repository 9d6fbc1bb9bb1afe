// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"runtime"
	"strings"
	"testing"
)

// rule is one check of a file, with files that keep it and files that break it.
type rule struct {
	name  string
	check func(file) error
	good  []file
	bad   []file
}

// source makes a file.
func source(path string, lines ...string) file {
	return file{path, []byte(strings.Join(lines, "\n") + "\n")}
}

const (
	apache = "SPDX-License-Identifier: Apache-2.0"
	gpl    = "SPDX-License-Identifier: GPL-2.0-only"
	dual   = "SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause"
)

var rules = []rule{
	{"SPDX", checkSPDX,
		[]file{source("wire/x.go", "// "+apache), source("kmod/tbnet2/main.c", "// "+gpl), source("kmod/tbnet2/uapi/x.h", "/* "+dual+" */"),
			source("verbs/nccl/x.c", "/* "+dual+" */"), source("scripts/x.sh", "#!/bin/sh", "# "+apache), source("docs/x.md", "text")},
		[]file{source("wire/x.go", "package wire"), source("wire/x.go", "// "+gpl), source("wire/x.go", "", "", "", "// "+apache),
			source("kmod/tbnet2/main.c", "// "+apache), source("kmod/tbnet2/main.c", "// "+dual),
			source("kmod/tbnet2/uapi/x.h", "/* "+gpl+" */"), source("verbs/ibverbs/x.c", "/* "+apache+" */"),
			source("scripts/x", "#!/bin/sh", "true"), source("Makefile", "all:"), source(".github/x.yml", "a: b")}},
	{"size", checkSize,
		[]file{{"wire/x.go", lines(goLines)}, {"wire/x_test.go", lines(testLines)}, {"kmod/x.c", lines(cLines)}, {"docs/x.md", lines(5000)}},
		[]file{{"wire/x.go", lines(goLines + 1)}, {"wire/x_test.go", lines(testLines + 1)}, {"kmod/x.c", lines(cLines + 1)},
			{"kmod/x.h", lines(cLines + 1)}}},
	{"gofmt", checkFormat,
		[]file{source("wire/x.go", "package wire", "", "var x int")},
		[]file{source("wire/x.go", "package wire", "var  x int"), source("wire/x.go", "package")}},
	{"imports", checkImports,
		[]file{imports("fabric/x.go", "transport"), imports("cmd/tbnetctl/x.go", "tap"), imports("rail/packet/x.go", "rail"),
			imports("tap/x_test.go", "rail/mem"), source("wire/x.go", "package wire", `import "fmt"`)},
		[]file{imports("transport/x.go", "rail"), imports("transport/x.go", "rail/mem"), imports("transport/x_test.go", "fabric"),
			imports("wire/x.go", "transport"), imports("rail/x.go", "fabric"), imports("ctl/x.go", "fabric"),
			imports("tap/x.go", "userstack"), imports("userstack/x.go", "tap"), imports("verbs/x.go", "tap"),
			imports("tap/x.go", "rail/mem"), imports("fabric/x.go", "cmd/tbnetctl/internal/config"), imports("new/x.go", "wire"),
			imports("x.go", "wire")}},
	{"clock, lock, goroutine and channel in the core", checkCore,
		[]file{source("transport/x.go", "package transport", `import "slices"`), source("transport/x_test.go", "package transport", `import "time"`),
			source("fabric/x.go", "package fabric", `import "time"`)},
		[]file{source("transport/x.go", "package transport", `import "time"`), source("transport/x.go", "package transport", `import s "sync"`),
			source("transport/x.go", "package transport", `import "golang.org/x/sys/unix"`),
			source("transport/x.go", "package transport", "func f() { go f() }"),
			source("transport/x.go", "package transport", "type t struct{ c chan int }")}},
	{"sleep", checkSleep,
		[]file{source("wire/x.go", "package wire", `import "time"`, "func f() { time.Sleep(1) }"),
			source("wire/x_test.go", "package wire", `import ("time"; "testing/synctest")`, "func f() { time.Sleep(1) }")},
		[]file{source("wire/x_test.go", "package wire", `import "time"`, "func f() { for { time.Sleep(1) } }")}},
	{"skip", checkSkip,
		[]file{source("wire/x_test.go", "package wire", `func f() { t.Skip("needs root"); t.Skipf("needs %s", "") }`)},
		[]file{source("wire/x_test.go", "package wire", "func f() { t.Skip() }"), source("wire/x_test.go", "package wire", "func f() { tb.SkipNow() }"),
			source("wire/x_test.go", "package wire", `func f() { t.Skip("flaky") }`), source("wire/x_test.go", "package wire", "func f() { t.Skip(err) }")}},
	{"init", checkInit,
		[]file{source("wire/x.go", "package wire", "func (t t) init() {}")},
		[]file{source("wire/x.go", "package wire", "func init() {}")}},
}

func lines(n int) []byte { return []byte(strings.Repeat("\n", n)) }

func imports(path, room string) file {
	return source(path, "package p", `import _ "`+module+room+`"`)
}

// TestTree holds every file of the tree to every rule.
func TestTree(t *testing.T) {
	files := tree(t)
	for _, f := range files {
		for _, r := range rules {
			if err := r.check(f); err != nil {
				t.Errorf("%s: %v", r.name, err)
			}
		}
	}
	if err := checkFolders(files); err != nil {
		t.Error(err)
	}
}

// TestCoreTypes checks the core as it is built, and with all sabotage on.
func TestCoreTypes(t *testing.T) {
	files := tree(t)
	for _, sabotage := range []bool{false, true} {
		build := built(files, func(tag string) bool {
			return tag == runtime.GOOS || tag == runtime.GOARCH || strings.HasPrefix(tag, "sabotage_") && sabotage
		})
		if err := checkCoreTypes(build); err != nil {
			t.Errorf("sabotage %v: %v", sabotage, err)
		}
	}
}

func tree(t *testing.T) []file {
	t.Helper()
	files, err := sources("../..")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 100 {
		t.Fatalf("%d files: this is not the tree", len(files))
	}
	return files
}

// A rule that lets what is bad through, or refuses what is good, is none.
func TestRules(t *testing.T) {
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			for _, f := range r.good {
				if err := r.check(f); err != nil {
					t.Errorf("good file is refused: %v", err)
				}
			}
			for i, f := range r.bad {
				if r.check(f) == nil {
					t.Errorf("bad file %d, %s, is let through:\n%.200s", i, f.path, f.content)
				}
			}
		})
	}
}

func TestFolders(t *testing.T) {
	for _, c := range []struct {
		name  string
		paths []string
		ok    bool
	}{
		{"Go alone", []string{"a/x.go", "a/y.go", "b/z.c", "a/README.md"}, true},
		{"C beside Go", []string{"a/x.go", "a/y.c"}, false},
		{"a header beside Go", []string{"a/y.h", "a/x.go"}, false},
		{"assembly beside Go", []string{"a/y.S", "a/x.go"}, false},
	} {
		var files []file
		for _, path := range c.paths {
			files = append(files, file{path: path})
		}
		if err := checkFolders(files); (err == nil) != c.ok {
			t.Errorf("%s: %v, want ok %v", c.name, err, c.ok)
		}
	}
}

func TestCoreTypesCatch(t *testing.T) {
	for _, c := range []struct{ name, code, want string }{
		{"integers", "func f(n uint64) (s uint64) { for i := range n { s += i }; for _, v := range []int{1} { s += uint64(v) }; return }", ""},
		{"float", "var x float64", "float64"},
		{"float literal", "var x = 1.5", "float64"},
		{"named float", "type share float32; func f(s share) share { return s }", "float32"},
		{"float by conversion", "func f(n int) bool { return float32(n) > 1 }", "float32"},
		{"complex", "var c = 2i", "complex"},
		{"map", "func f() { m := make(map[int]int); for range m {} }", "range over a map"},
		{"named map", "type set map[int]bool; type owner struct{ s set }; func f(o *owner) { for k := range o.s { _ = k } }", "range over a map"},
		{"map looked up", "func f(m map[int]int) int { return m[1] }", ""},
		{"no program", "func f() { undeclared() }", "undeclared"},
	} {
		err := checkCoreTypes([]file{source("transport/x.go", "package transport", c.code)})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

func TestBuilt(t *testing.T) {
	on := source("transport/on.go", "// c", "//go:build sabotage_x", "package transport")
	off := source("transport/off.go", "//go:build !sabotage_x && linux", "package transport", "//go:build never")
	always := source("transport/x.go", "package transport", "//go:build never")
	for _, c := range []struct {
		name string
		tags string
		want []string
	}{
		{"plain", "linux", []string{off.path, always.path}},
		{"sabotage", "linux sabotage_x", []string{on.path, always.path}},
	} {
		got := built([]file{on, off, always}, func(tag string) bool { return strings.Contains(" "+c.tags+" ", " "+tag+" ") })
		if len(got) != 2 || got[0].path != c.want[0] || got[1].path != c.want[1] {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}
