// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
)

// module is the module's path.
const module = "github.com/tbnet2/tbnet2/"

// allowed are the rooms whose packages a room's may import; a room may always
// import itself.
var allowed = map[string][]string{
	"wire":      {},
	"transport": {"wire"},
	"rail":      {"wire"},
	"fabric":    {"wire", "transport", "rail"},
	"userstack": {"wire", "transport", "fabric"},
	"tap":       {"wire", "transport", "fabric"},
	"verbs":     {"wire", "transport", "fabric"},
	"ctl":       {},
	"bench":     {},
	"packaging": {},
	"doctor":    {"ctl"},
	"lab":       {"wire", "transport", "rail", "fabric", "userstack"},
	"cmd":       {"wire", "transport", "rail", "fabric", "userstack", "tap", "verbs", "ctl", "bench", "doctor", "lab"},
	"test":      {"wire", "transport", "rail", "fabric", "userstack", "tap", "verbs", "ctl", "bench", "doctor", "lab"},
}

// testOnly are what tests of a room may import beside.
var testOnly = map[string][]string{
	"userstack": {"rail"},
	"tap":       {"rail", "userstack"},
	"verbs":     {"rail"},
}

// room is the first folder of a path.
func room(p string) string {
	first, _, _ := strings.Cut(p, "/")
	return first
}

// checkImports holds a Go file to the table.
func checkImports(f file) error {
	if !strings.HasSuffix(f.path, ".go") || strings.Contains(f.path, "/testdata/") {
		return nil
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), f.path, f.content, parser.ImportsOnly)
	if err != nil {
		return err
	}
	from := room(f.path)
	may, known := allowed[from]
	if !known {
		return fmt.Errorf("%s: room %q is not in the table of test/rules: say what it may import", f.path, from)
	}
	if strings.HasSuffix(f.path, "_test.go") {
		may = append(slices.Clone(may), testOnly[from]...)
	}
	for _, imp := range parsed.Imports {
		p, ok := strings.CutPrefix(strings.Trim(imp.Path.Value, `"`), module)
		if !ok || room(p) == from {
			continue
		}
		if !slices.Contains(may, room(p)) {
			return fmt.Errorf("%s: %s must not import %s (ARCHITECTURE.md)", f.path, path.Dir(f.path), p)
		}
	}
	return nil
}
