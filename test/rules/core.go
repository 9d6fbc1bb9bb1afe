// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// corePackages are held to what a core in C can repeat action by action.
var corePackages = []string{"transport"}

// inCore reports whether a file belongs to the core's code.
func inCore(path string) bool {
	dir, name, ok := strings.Cut(path, "/")
	return ok && slices.Contains(corePackages, dir) && strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") &&
		!strings.Contains(name, "/")
}

// outside are imports that bring a clock, a lock, a socket, chance or floats.
var outside = []string{"context", "log", "log/slog", "maps", "math", "math/big", "math/rand", "math/rand/v2", "net", "os", "reflect",
	"runtime", "sync", "sync/atomic", "syscall", "time", "unsafe"}

// checkCore keeps clocks, locks, goroutines and channels out of the core.
func checkCore(f file) error {
	if !inCore(f.path) {
		return nil
	}
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, f.path, f.content, 0)
	if err != nil {
		return err
	}
	var found error
	ast.Inspect(parsed, func(n ast.Node) bool {
		if what := strange(n); what != "" && found == nil {
			found = fmt.Errorf("%s: %s in the core: it must do the same at each step as the core in C", fset.Position(n.Pos()), what)
		}
		return found == nil
	})
	return found
}

// strange names what a node must not be, whatever its type.
func strange(n ast.Node) string {
	switch n := n.(type) {
	case *ast.GoStmt:
		return "a goroutine"
	case *ast.ChanType, *ast.SelectStmt, *ast.SendStmt:
		return "a channel"
	case *ast.ImportSpec:
		path := strings.Trim(n.Path.Value, `"`)
		if slices.Contains(outside, path) || strings.HasPrefix(path, "golang.org/x/sys/") {
			return "import " + path
		}
	}
	return ""
}

// checkCoreTypes wants integers only in the core, and no order by chance: no
// value of a float type and no range over a map, however either is spelled.
// files are those of one build (see built).
func checkCoreTypes(files []file) error {
	fset := token.NewFileSet()
	byPackage := map[string][]*ast.File{}
	for _, f := range files {
		if !inCore(f.path) {
			continue
		}
		parsed, err := parser.ParseFile(fset, f.path, f.content, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir := f.path[:strings.LastIndex(f.path, "/")]
		byPackage[dir] = append(byPackage[dir], parsed)
	}
	for _, dir := range corePackages {
		if err := checkPackageTypes(fset, dir, byPackage[dir]); err != nil {
			return err
		}
	}
	return nil
}

func checkPackageTypes(fset *token.FileSet, dir string, parsed []*ast.File) error {
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	conf := types.Config{Importer: importer.ForCompiler(fset, "source", nil)}
	if _, err := conf.Check(module+dir, fset, parsed, info); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	var found []error
	for expr, tv := range info.Types {
		if what := inexact(tv.Type); what != "" {
			found = append(found, fmt.Errorf("%s: %s in the core: integers only", fset.Position(expr.Pos()), what))
		}
	}
	for _, file := range parsed {
		ast.Inspect(file, func(n ast.Node) bool {
			r, ok := n.(*ast.RangeStmt)
			if !ok {
				return true
			}
			if _, ok := info.Types[r.X].Type.Underlying().(*types.Map); ok {
				found = append(found, fmt.Errorf("%s: a range over a map in the core: its order is chance", fset.Position(n.Pos())))
			}
			return true
		})
	}
	if len(found) == 0 {
		return nil
	}
	slices.SortFunc(found, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return found[0]
}

// inexact names a type that is no integer arithmetic.
func inexact(t types.Type) string {
	if t == nil {
		return ""
	}
	b, ok := t.Underlying().(*types.Basic)
	if !ok || b.Info()&(types.IsFloat|types.IsComplex) == 0 {
		return ""
	}
	return "a value of type " + t.String()
}
