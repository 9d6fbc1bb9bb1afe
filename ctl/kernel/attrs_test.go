// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"regexp"
	"strings"
	"testing"
)

const header = "../../kmod/tbnet2/uapi/tbnet2_ctl.h"

// TestNumbersAreTheHeaders: every constant of attrs.go has the header's number,
// and every number of the header is here.
func TestNumbersAreTheHeaders(t *testing.T) {
	c := headerEnums(t)
	for name, value := range goConstants(t) {
		want, ok := c[name]
		if !ok {
			t.Errorf("%s is not in %s", name, header)
		} else if value != want {
			t.Errorf("%s is %d here, %d in the header", name, value, want)
		}
		delete(c, name)
	}
	for name := range c {
		t.Errorf("%s of the header is not here", name)
	}
}

// headerEnums reads the enums of the header: names as goConstants gives them.
// Those of states and kinds are decode.go's.
func headerEnums(t *testing.T) map[string]int64 {
	t.Helper()
	text, err := os.ReadFile(header)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int64{}
	comment := regexp.MustCompile(`(?s)/\*.*?\*/`)
	for _, m := range regexp.MustCompile(`(?s)enum (\w+) \{(.*?)\};`).FindAllSubmatch(comment.ReplaceAll(text, nil), -1) {
		if enum := string(m[1]); strings.HasSuffix(enum, "_state") || strings.HasSuffix(enum, "_kind") {
			continue
		}
		for i, name := range strings.Split(strings.TrimRight(strings.TrimSpace(string(m[2])), ","), ",") {
			name = strings.TrimSpace(name)
			if strings.HasPrefix(name, "__") || strings.HasSuffix(name, "_UNSPEC") {
				continue
			}
			name = strings.TrimPrefix(name, "TBNET2_")
			if rest, ok := strings.CutPrefix(name, "A_"); ok {
				name = "ATTR_" + rest
			}
			out[strings.ReplaceAll(name, "_", "")] = int64(i)
		}
	}
	if len(out) < 60 {
		t.Fatalf("only %d names read from %s", len(out), header)
	}
	return out
}

// goConstants are the numbers of attrs.go by their names in capitals.
func goConstants(t *testing.T) map[string]int64 {
	t.Helper()
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, "attrs.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	pkg, err := (&types.Config{Importer: importer.Default()}).Check("kernel", set, []*ast.File{f}, nil)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int64{}
	for _, name := range pkg.Scope().Names() {
		c, ok := pkg.Scope().Lookup(name).(*types.Const)
		if !ok || c.Val().Kind() != constant.Int || name == "version" {
			continue
		}
		v, _ := constant.Int64Val(c.Val())
		out[strings.ToUpper(name)] = v
	}
	return out
}
