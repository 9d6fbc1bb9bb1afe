// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// guestPrograms are in every guest beside busybox; sh is dash, as busybox's own
// shell prefers its applets to the programs in PATH.
var guestPrograms = []string{"dash", "ip", "tc", "ping", "iperf3", "ethtool"}

// initramfs builds what the guest runs for one test on one kernel.
func initramfs(root string, k *kernel, t *test) ([]byte, error) {
	a := newArchive()
	for _, dir := range []string{"proc", "sys", "dev", "run/netns", "tmp", "m", "var", "etc"} {
		a.folder(dir)
	}
	a.link("var/run", "/run")
	if err := addPrograms(a, t.programs); err != nil {
		return nil, err
	}
	for _, file := range []string{"init", "lib.sh", "hosts.sh"} {
		if err := a.file(filepath.Join(root, "test/vm/guest", file), file); err != nil {
			return nil, err
		}
	}
	load, err := addModules(a, k, t)
	if err != nil {
		return nil, err
	}
	a.put("load", modeFile, []byte(load))
	body, err := t.guestFile(root)
	if err != nil {
		return nil, err
	}
	a.put("test", modeFile, body)
	return a.finish(), nil
}

// addPrograms puts in busybox with its applets, and the real programs.
func addPrograms(a *archive, more []string) error {
	if err := a.program("busybox"); err != nil {
		return err
	}
	for _, name := range append(guestPrograms, more...) {
		if err := a.program(name); err != nil {
			return err
		}
	}
	a.link("bin/sh", "/usr/bin/dash")
	applets, err := exec.Command("busybox", "--list").Output()
	if err != nil {
		return fmt.Errorf("busybox --list: %w", err)
	}
	for _, applet := range strings.Fields(string(applets)) {
		a.link("bin/"+applet, "/usr/bin/busybox")
	}
	return nil
}

// addModules puts the test's modules into /m and gives what init loads, in
// order, one path a line.
func addModules(a *archive, k *kernel, t *test) (string, error) {
	var load strings.Builder
	for _, name := range t.modules {
		paths, err := k.withDependencies(name)
		if err != nil {
			return "", err
		}
		for _, path := range paths {
			guest := "m/" + moduleFile(path)
			if !a.known[guest] {
				fmt.Fprintf(&load, "/%s\n", guest)
			}
			if err := addModule(a, path, guest); err != nil {
				return "", err
			}
		}
	}
	for _, name := range t.copies {
		paths, err := k.withDependencies(name)
		if err != nil {
			return "", err
		}
		if len(paths) == 0 {
			continue // built in
		}
		path := paths[len(paths)-1]
		if err := addModule(a, path, "m/"+moduleFile(path)); err != nil {
			return "", err
		}
	}
	return load.String(), nil
}

// addModule puts in one module, decompressed, without debug information.
func addModule(a *archive, path, guest string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for ext, tool := range map[string]string{".xz": "xz", ".zst": "zstd", ".gz": "gzip"} {
		if filepath.Ext(path) != ext {
			continue
		}
		cmd := exec.Command(tool, "-dc")
		cmd.Stdin = bytes.NewReader(b)
		if b, err = cmd.Output(); err != nil {
			return fmt.Errorf("%s %s: %w", tool, path, err)
		}
	}
	a.put(guest, modeFile, b)
	return nil
}

// withDependencies gives the paths of the modules to load for name, in order,
// name itself last. Our own modules come before the kernel's of the same name.
func (k *kernel) withDependencies(name string) ([]string, error) {
	if path, ok := k.ours[moduleName(name)]; ok {
		out, err := exec.Command("modinfo", "-F", "depends", path).Output()
		if err != nil {
			return nil, fmt.Errorf("modinfo %s: %w", path, err)
		}
		var paths []string
		for _, dep := range strings.FieldsFunc(strings.TrimSpace(string(out)), func(r rune) bool { return r == ',' }) {
			more, err := k.withDependencies(dep)
			if err != nil {
				return nil, err
			}
			paths = append(paths, more...)
		}
		return append(paths, path), nil
	}
	out, err := exec.Command("modprobe", "-d", k.vars["KERNEL_MODULES"], "-S", k.release(), "--show-depends", name).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("kernel %s has no module %s: %s", k.name, name, bytes.TrimSpace(out))
	}
	var paths []string
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "insmod" {
			paths = append(paths, f[1])
		}
	}
	return paths, nil // none where it is built in
}

// moduleFile is the file name in the guest: NAME.ko.
func moduleFile(path string) string {
	base, _, _ := strings.Cut(filepath.Base(path), ".")
	return base + ".ko"
}

// moduleName is the name as the kernel says it, with underscores.
func moduleName(path string) string {
	return strings.ReplaceAll(strings.TrimSuffix(moduleFile(path), ".ko"), "-", "_")
}
