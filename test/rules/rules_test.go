// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"strings"
	"testing"
)

// rule is one check, and a file that breaks it.
type rule struct {
	name  string
	check func(file) error
	bad   file
}

var rules = []rule{
	{"SPDX", checkSPDX, file{"wire/x.go", []byte("package wire\n")}},
	{"SPDX of the wire header", checkSPDX, file{"kmod/tbnet2/uapi/x.h", []byte("/* SPDX-License-Identifier: GPL-2.0-only */\n")}},
	{"size", checkSize, file{"wire/x.go", []byte(strings.Repeat("\n", goLines+1))}},
	{"size of C", checkSize, file{"kmod/x.c", []byte(strings.Repeat("\n", cLines+1))}},
	{"gofmt", checkFormat, file{"wire/x.go", []byte("package wire\nvar  x int\n")}},
	{"imports", checkImports, file{"transport/x.go", []byte("package transport\nimport _ \"github.com/tbnet2/tbnet2/rail\"\n")}},
	{"imports of tap", checkImports, file{"tap/x.go", []byte("package tap\nimport _ \"github.com/tbnet2/tbnet2/userstack\"\n")}},
	{"imports of a new room", checkImports, file{"new/x.go", []byte("package n\n")}},
	{"float", checkCore, file{"transport/x.go", []byte("package transport\nvar x float64\n")}},
	{"float literal", checkCore, file{"transport/x.go", []byte("package transport\nvar x = 1.5\n")}},
	{"clock", checkCore, file{"transport/x.go", []byte("package transport\nimport _ \"time\"\n")}},
	{"goroutine", checkCore, file{"transport/x.go", []byte("package transport\nfunc f() { go f() }\n")}},
	{"range over a map", checkCore, file{"transport/x.go", []byte("package transport\nvar m map[int]int\nfunc f() { for range m {} }\n")}},
	{"sleep", checkSleep, file{"wire/x_test.go", []byte("package wire\nimport \"time\"\nfunc f() { time.Sleep(1) }\n")}},
}

func TestTree(t *testing.T) {
	files, err := sources("../..")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 100 {
		t.Fatalf("%d files: this is not the tree", len(files))
	}
	for _, f := range files {
		for _, r := range rules {
			if err := r.check(f); err != nil {
				t.Error(err)
			}
		}
	}
	if err := checkFolders(files); err != nil {
		t.Error(err)
	}
}

func TestRulesCatch(t *testing.T) {
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			if r.check(r.bad) == nil {
				t.Errorf("%s is let through", r.bad.path)
			}
		})
	}
	if checkFolders([]file{{path: "a/x.go"}, {path: "a/y.c"}}) == nil {
		t.Error("C beside Go is let through")
	}
}
