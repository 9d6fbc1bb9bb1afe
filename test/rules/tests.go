// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

// checkSleep wants no time.Sleep in tests but in files of testing/synctest.
func checkSleep(f file) error {
	if !strings.HasSuffix(f.path, "_test.go") || strings.Contains(string(f.content), `"testing/synctest"`) {
		return nil
	}
	return inspectCalls(f, func(receiver, name string, _ *ast.CallExpr) string {
		if receiver == "time" && name == "Sleep" {
			return "time.Sleep in a test: wait for a condition"
		}
		return ""
	})
}

// checkSkip wants every skip to say what it needs. A test without a reason
// could be off for ever.
func checkSkip(f file) error {
	if !strings.HasSuffix(f.path, "_test.go") {
		return nil
	}
	return inspectCalls(f, func(receiver, name string, call *ast.CallExpr) string {
		if receiver != "t" && receiver != "tb" && receiver != "b" {
			return ""
		}
		switch name {
		case "SkipNow":
			return "SkipNow: say with Skip what the test needs"
		case "Skip", "Skipf":
			if len(call.Args) > 0 {
				text, ok := call.Args[0].(*ast.BasicLit)
				if ok && strings.HasPrefix(strings.Trim(text.Value, "\"`"), "needs ") {
					return ""
				}
			}
			return `a skip must begin with "needs ": the thing that is not here`
		}
		return ""
	})
}

// inspectCalls gives each call of a method or package function to judge, which
// returns what is wrong with it.
func inspectCalls(f file, judge func(receiver, name string, call *ast.CallExpr) string) error {
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, f.path, f.content, 0)
	if err != nil {
		return err
	}
	var found error
	ast.Inspect(parsed, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || found != nil {
			return found == nil
		}
		s, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := s.X.(*ast.Ident); ok {
			if what := judge(x.Name, s.Sel.Name, call); what != "" {
				found = fmt.Errorf("%s: %s", fset.Position(n.Pos()), what)
			}
		}
		return true
	})
	return found
}

// checkInit wants no function init: nothing happens because a package is
// linked in.
func checkInit(f file) error {
	if !strings.HasSuffix(f.path, ".go") {
		return nil
	}
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, f.path, f.content, 0)
	if err != nil {
		return err
	}
	for _, d := range parsed.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
			return fmt.Errorf("%s: func init: let the caller make what it needs", fset.Position(fn.Pos()))
		}
	}
	return nil
}
