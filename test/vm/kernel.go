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

// kernel is one kernel that tests run on.
type kernel struct {
	name    string            // 6.1, 6.12 or debug
	vars    map[string]string // what the script printed: KERNEL_RELEASE, ...
	vmlinux string            // uncompressed image, which boots fastest
	dir     string            // build/vm/NAME
	ours    map[string]string // path of each module built from kmod/*, by module name
}

// kernelNames are the kernels there are.
var kernelNames = []string{"6.1", "6.12", "debug"}

// openKernel finds the kernel's packages, fetching or building what is missing,
// unpacks its image into dir and builds the modules of kmod against it.
func openKernel(root, name, dir string) (*kernel, error) {
	script, args := "scripts/kernel-packages.sh", []string{name}
	if name == "debug" {
		script, args = "scripts/debug-kernel.sh", nil
	}
	cmd := exec.Command(filepath.Join(root, script), args...)
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", script, strings.Join(args, " "), err)
	}
	k := &kernel{name: name, dir: dir, vars: map[string]string{}}
	for line := range strings.Lines(string(out)) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if !ok || strings.ContainsAny(value, `\'`) {
			return nil, fmt.Errorf("%s: cannot use %q (a path that needs quotes?)", script, line)
		}
		k.vars[key] = value
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if err := k.unpack(); err != nil {
		return nil, err
	}
	return k, k.buildModules(root)
}

// release is what uname -r says in the guest.
func (k *kernel) release() string { return k.vars["KERNEL_RELEASE"] }

// unpack leaves an uncompressed image and sets vmlinux.
func (k *kernel) unpack() error {
	path := k.vars["KERNEL_IMAGE"]
	image, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if bytes.HasPrefix(image, []byte("\x7fELF")) {
		k.vmlinux = path
		return nil
	}
	elf, err := decompress(image)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	k.vmlinux = filepath.Join(k.dir, "vmlinux")
	return os.WriteFile(k.vmlinux, elf, 0o644)
}

// buildModules runs each kmod/NAME/build.sh into build/vm/KERNEL/kmod/NAME. The
// scripts get the KERNEL_ variables and the folder to build in.
func (k *kernel) buildModules(root string) error {
	k.ours = map[string]string{}
	scripts, err := filepath.Glob(filepath.Join(root, "kmod/*/build.sh"))
	if err != nil {
		return err
	}
	for _, script := range scripts {
		out := filepath.Join(k.dir, "kmod", filepath.Base(filepath.Dir(script)))
		if err := os.RemoveAll(out); err != nil {
			return err
		}
		cmd := exec.Command(script, out)
		cmd.Env = os.Environ()
		for key, value := range k.vars {
			cmd.Env = append(cmd.Env, key+"="+value)
		}
		if said, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s for %s: %w\n%s", script, k.name, err, said)
		}
		built, err := filepath.Glob(filepath.Join(out, "*.ko"))
		if err != nil {
			return err
		}
		for _, path := range built {
			k.ours[moduleName(path)] = path
		}
	}
	return nil
}
