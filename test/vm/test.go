// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// test is one file of test/vm/tests, and what its header asks for.
type test struct {
	name     string        // the file's, without .sh or _test.go
	path     string        // empty: the interactive shell
	modules  []string      // loaded before the test, with what they depend on
	copies   []string      // only put into /m, for the test to insmod
	programs []string      // of this machine, beside guestPrograms
	kernels  []string      // that it runs on; all where the header does not say
	timeout  time.Duration // of the whole boot
	expect   string        // outcome that must be found; "" is a clean pass
	cpus     int
	memory   int // MiB
}

// Defaults, generous: the machine may be busy and emulates the guest's CPU.
const (
	defaultTimeout = 120 * time.Second
	defaultCPUs    = 2
	defaultMemory  = 1024
)

var header = regexp.MustCompile(`(?m)^(?:#|//) ?vm-([a-z]+): *(.*?) *$`)

// readTest reads a test's header.
func readTest(path string) (*test, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	base := strings.TrimSuffix(filepath.Base(path), ".sh")
	t := &test{
		name: strings.TrimSuffix(base, "_test.go"), path: path, kernels: kernelNames,
		timeout: defaultTimeout, cpus: defaultCPUs, memory: defaultMemory,
	}
	for _, m := range header.FindAllStringSubmatch(string(b), -1) {
		if err := t.set(m[1], m[2]); err != nil {
			return nil, fmt.Errorf("%s: vm-%s: %w", path, m[1], err)
		}
	}
	return t, nil
}

// set takes one line of the header.
func (t *test) set(key, value string) (err error) {
	switch key {
	case "modules":
		t.modules = strings.Fields(value)
	case "copies":
		t.copies = strings.Fields(value)
	case "programs":
		t.programs = strings.Fields(value)
	case "cpus":
		t.cpus, err = strconv.Atoi(value)
	case "memory":
		t.memory, err = strconv.Atoi(value)
	case "timeout":
		t.timeout, err = time.ParseDuration(value)
	case "expect":
		t.expect = value
		if !slices.Contains(outcomes(), value) {
			err = fmt.Errorf("%q is none of %v", value, outcomes())
		}
	case "kernels":
		t.kernels = strings.Fields(value)
		for _, name := range t.kernels {
			if !slices.Contains(kernelNames, name) {
				err = fmt.Errorf("%q is none of %v", name, kernelNames)
			}
		}
	default:
		err = errors.New("no such line")
	}
	return err
}

// findTests reads all tests, or the one of that name, sorted by name.
func findTests(root, name string) ([]*test, error) {
	var tests []*test
	for _, pattern := range []string{"*.sh", "*_test.go"} {
		paths, err := filepath.Glob(filepath.Join(root, "test/vm/tests", pattern))
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			t, err := readTest(path)
			if err != nil {
				return nil, err
			}
			if name == "" || t.name == name {
				tests = append(tests, t)
			}
		}
	}
	if len(tests) == 0 {
		return nil, fmt.Errorf("no test %q in test/vm/tests", name)
	}
	slices.SortFunc(tests, func(a, b *test) int { return strings.Compare(a.name, b.name) })
	return tests, nil
}

var testFunc = regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9_]*)\(t \*testing\.T\)`)

// guestFile is what the guest runs as /test: the script itself, or a script that
// runs a Go file's tests, whose static binary goes in with it.
func (t *test) guestFile(root string) ([]byte, error) {
	if t.path == "" {
		return []byte("#!/bin/sh\n/hosts.sh\nexport PS1='vm# '\nsetsid cttyhack sh -i\nexit 0\n"), nil
	}
	if strings.HasSuffix(t.path, ".sh") {
		return os.ReadFile(t.path)
	}
	dir, err := os.MkdirTemp("", "vmtest")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	bin := filepath.Join(dir, "test")
	cmd := exec.Command("go", "test", "-c", "-tags", "vm", "-o", bin, t.path)
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if said, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go test -c %s: %w\n%s", t.path, err, said)
	}
	source, err := os.ReadFile(t.path)
	if err != nil {
		return nil, err
	}
	if !testFunc.Match(source) {
		return nil, fmt.Errorf("%s has no test", t.path)
	}
	return os.ReadFile(bin)
}
