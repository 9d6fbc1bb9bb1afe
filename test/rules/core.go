// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

// checkCore holds the transport's core to what the C core can repeat: integers
// only, no clock, lock, goroutine or channel, no order by chance (maps).
func checkCore(f file) error {
	if !strings.HasPrefix(f.path, "transport/") || strings.HasSuffix(f.path, "_test.go") || !strings.HasSuffix(f.path, ".go") {
		return nil
	}
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, f.path, f.content, 0)
	if err != nil {
		return err
	}
	maps := mapNames(parsed)
	var found error
	ast.Inspect(parsed, func(n ast.Node) bool {
		if what := offence(n, maps); what != "" && found == nil {
			found = fmt.Errorf("%s: %s in the transport's core", fset.Position(n.Pos()), what)
		}
		return found == nil
	})
	return found
}

// offence names what a node must not be.
func offence(n ast.Node, maps map[string]bool) string {
	switch n := n.(type) {
	case *ast.Ident:
		if n.Name == "float64" || n.Name == "float32" {
			return "a float"
		}
	case *ast.BasicLit:
		if n.Kind == token.FLOAT {
			return "a float"
		}
	case *ast.GoStmt:
		return "a goroutine"
	case *ast.ChanType:
		return "a channel"
	case *ast.ImportSpec:
		switch strings.Trim(n.Path.Value, `"`) {
		case "time", "sync", "sync/atomic", "net", "os", "math/rand", "math/rand/v2":
			return "import " + n.Path.Value
		}
	case *ast.RangeStmt:
		if s, ok := n.X.(*ast.SelectorExpr); ok && maps[s.Sel.Name] {
			return "a range over map " + s.Sel.Name
		}
		if s, ok := n.X.(*ast.Ident); ok && maps[s.Name] {
			return "a range over map " + s.Name
		}
	}
	return ""
}

// mapNames are the fields and variables of a file that are declared as maps.
func mapNames(f *ast.File) map[string]bool {
	names := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			if _, ok := n.Type.(*ast.MapType); ok {
				for _, name := range n.Names {
					names[name.Name] = true
				}
			}
		case *ast.ValueSpec:
			if _, ok := n.Type.(*ast.MapType); ok {
				for _, name := range n.Names {
					names[name.Name] = true
				}
			}
		}
		return true
	})
	return names
}

// checkSleep wants no time.Sleep in tests but in those of testing/synctest.
func checkSleep(f file) error {
	if !strings.HasSuffix(f.path, "_test.go") || strings.Contains(string(f.content), `"testing/synctest"`) {
		return nil
	}
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, f.path, f.content, 0)
	if err != nil {
		return err
	}
	var found error
	ast.Inspect(parsed, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok || s.Sel.Name != "Sleep" {
			return true
		}
		if x, ok := s.X.(*ast.Ident); ok && x.Name == "time" {
			found = fmt.Errorf("%s: time.Sleep in a test: wait for a condition", fset.Position(n.Pos()))
		}
		return true
	})
	return found
}
