// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"bytes"
	"fmt"
	"go/build/constraint"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// file is a source file of the tree.
type file struct {
	path    string // from the tree's root, with slashes
	content []byte
}

// sources gives the files that git knows or would know, below root.
func sources(root string) ([]file, error) {
	cmd := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", err)
	}
	var files []file
	for _, path := range strings.Split(strings.Trim(string(out), "\x00"), "\x00") {
		b, err := os.ReadFile(filepath.Join(root, path))
		if os.IsNotExist(err) {
			continue // deleted, not committed yet
		}
		if err != nil {
			return nil, err
		}
		files = append(files, file{path, b})
	}
	return files, nil
}

// built gives the files of one build: those whose go:build line holds with tags.
func built(files []file, tag func(string) bool) []file {
	return slices.DeleteFunc(slices.Clone(files), func(f file) bool {
		for line := range bytes.Lines(f.content) {
			if bytes.HasPrefix(line, []byte("package ")) {
				return false
			}
			if expr, err := constraint.Parse(strings.TrimSpace(string(line))); err == nil {
				return !expr.Eval(tag)
			}
		}
		return false
	})
}

// isSource reports whether a file must carry an SPDX line: code and what is
// installed. Text, generated data and recorded output need none.
func isSource(f file) bool {
	if strings.Contains(f.path, "/testdata/") {
		return false
	}
	switch filepath.Ext(f.path) {
	case ".go", ".c", ".h", ".S", ".sh", ".py", ".yml", ".yaml", ".mk", ".map", ".in", ".service", ".rules", ".network", ".link",
		".conf", ".sysusers", ".example":
		return true
	}
	switch filepath.Base(f.path) {
	case "Makefile", "Kbuild", "Dockerfile":
		return true
	}
	return bytes.HasPrefix(f.content, []byte("#!"))
}

// licence is the SPDX expression that a path calls for.
func licence(path string) string {
	const dual = "GPL-2.0-only OR BSD-3-Clause"
	for _, p := range []string{"kmod/tbnet2/uapi/", "kmod/tbnet2/core/", "verbs/ibverbs/", "verbs/nccl/", "test/vectors/gen/"} {
		if strings.HasPrefix(path, p) {
			return dual
		}
	}
	if strings.HasPrefix(path, "kmod/") {
		return "GPL-2.0-only"
	}
	return "Apache-2.0"
}

// checkSPDX wants the right SPDX line among the first three.
func checkSPDX(f file) error {
	if !isSource(f) {
		return nil
	}
	want := "SPDX-License-Identifier: " + licence(f.path)
	lines := bytes.SplitN(f.content, []byte("\n"), 4)
	for _, line := range lines[:min(3, len(lines))] {
		text := strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(string(line)), "*/"))
		if strings.HasSuffix(text, want) {
			return nil
		}
	}
	return fmt.Errorf("%s: no line %q at its start", f.path, want)
}

// Lines a file may have.
const (
	goLines   = 500
	testLines = 700
	cLines    = 700
)

// checkSize wants files of one noun.
func checkSize(f file) error {
	limit := 0
	switch {
	case strings.HasSuffix(f.path, "_test.go"):
		limit = testLines
	case strings.HasSuffix(f.path, ".go"):
		limit = goLines
	case strings.HasSuffix(f.path, ".c"), strings.HasSuffix(f.path, ".h"):
		limit = cLines
	default:
		return nil
	}
	if n := bytes.Count(f.content, []byte("\n")); n > limit {
		return fmt.Errorf("%s: %d lines, more than %d: split it by its nouns", f.path, n, limit)
	}
	return nil
}

// checkFormat wants what gofmt makes.
func checkFormat(f file) error {
	if !strings.HasSuffix(f.path, ".go") {
		return nil
	}
	out, err := format.Source(f.content)
	if err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	if !bytes.Equal(out, f.content) {
		return fmt.Errorf("%s: run gofmt", f.path)
	}
	return nil
}

// checkFolders wants no C beside Go: it would break a build without cgo.
func checkFolders(files []file) error {
	lang := map[string]string{}
	for _, f := range files {
		ext := filepath.Ext(f.path)
		if ext == ".h" || ext == ".S" || ext == ".s" {
			ext = ".c"
		}
		if ext != ".go" && ext != ".c" {
			continue
		}
		dir := filepath.Dir(f.path)
		if old := lang[dir]; old != "" && old != ext {
			return fmt.Errorf("%s: C and Go in one folder", dir)
		}
		lang[dir] = ext
	}
	return nil
}
