// SPDX-License-Identifier: Apache-2.0

// Package packaging tests the installation: what it puts where, that systemd
// takes the unit, and that removal leaves nothing but the configuration.
package packaging

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// program stands in for tbnetctl: it answers what the installation asks.
const program = `#!/bin/sh
case $1 in
completion) echo "completion of $2" ;;
manual) echo page >"$2/tbnetctl.8"; echo page >"$2/tbnetctl-rails-set.8" ;;
*) exit 1 ;;
esac
`

// tree is an installation's root.
type tree struct {
	t      *testing.T
	root   string
	binary string
	env    []string
}

func newTree(t *testing.T, prefix string) *tree {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "tbnetctl")
	if err := os.WriteFile(binary, []byte(program), 0o755); err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	return &tree{t, root, binary, append(os.Environ(), "DESTDIR="+root, "PREFIX="+prefix)}
}

func (r *tree) run(args ...string) {
	r.t.Helper()
	if args[0] == "install" {
		args = append(args, r.binary)
	}
	cmd := exec.Command("./install.sh", args...)
	cmd.Env = r.env
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("install.sh %v: %v: %s", args, err, out)
	}
}

// files lists all files with their modes.
func (r *tree) files() []string {
	r.t.Helper()
	out := []string{}
	err := filepath.WalkDir(r.root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		out = append(out, fmt.Sprintf("%o %s", info.Mode().Perm(), strings.TrimPrefix(path, r.root)))
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

func TestInstallAndUninstall(t *testing.T) {
	share := []string{
		"/share/bash-completion/completions/tbnetctl", "/share/doc/tbnet2/config.example", "/share/fish/vendor_completions.d/tbnetctl.fish",
		"/share/man/man8/tbnetctl-rails-set.8", "/share/man/man8/tbnetctl.8", "/share/zsh/site-functions/_tbnetctl",
	}
	lib := []string{
		"/NetworkManager/conf.d/90-tbnet2.conf", "/systemd/network/10-tbnet2-rails.network", "/systemd/system/tbnet2.service",
		"/sysusers.d/tbnet2.conf", "/udev/rules.d/70-tbnet2.rules",
	}
	for prefix, libdir := range map[string]string{"/usr": "/usr/lib", "/usr/local": "/etc"} {
		t.Run(prefix, func(t *testing.T) {
			want := []string{"755 " + prefix + "/bin/tbnetctl"}
			for _, f := range share {
				want = append(want, "644 "+prefix+f)
			}
			for _, f := range lib {
				want = append(want, "644 "+libdir+f)
			}
			slices.Sort(want)
			r := newTree(t, prefix)
			r.run("install")
			r.run("install") // again changes nothing
			if d := cmp.Diff(want, r.files()); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			unit, err := os.ReadFile(filepath.Join(r.root, libdir, "systemd/system/tbnet2.service"))
			if err != nil || !strings.Contains(string(unit), "ExecStart="+prefix+"/bin/tbnetctl daemon\n") || strings.Contains(string(unit), "@") && strings.Contains(string(unit), "@BINDIR@") {
				t.Errorf("unit: %v\n%s", err, unit)
			}
			r.run("uninstall")
			if got := r.files(); len(got) != 0 {
				t.Errorf("left behind: %v", got)
			}
		})
	}
}

func TestUninstallKeepsTheConfiguration(t *testing.T) {
	r := newTree(t, "/usr")
	r.run("install")
	config := filepath.Join(r.root, "etc/tbnet2/config")
	if err := os.WriteFile(config, []byte("[bond]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r.run("uninstall")
	if got := r.files(); !cmp.Equal(got, []string{"644 /etc/tbnet2/config"}) {
		t.Errorf("left: %v", got)
	}
}

func TestInstallRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no binary": {[]string{"install", "/nonexistent/tbnetctl"}, "run make build first"},
		"no verb":   {nil, "usage: install.sh install [BINARY] | uninstall"},
		"other":     {[]string{"purge"}, "usage: install.sh install [BINARY] | uninstall"},
	} {
		cmd := exec.Command("./install.sh", c.args...)
		cmd.Env = append(os.Environ(), "DESTDIR="+t.TempDir())
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: got %v, %s", name, err, out)
		}
	}
}

// TestUnit has systemd read the unit, where it is there to do so.
func TestUnit(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("needs systemd-analyze")
	}
	r := newTree(t, "/usr")
	r.run("install")
	path := filepath.Join(r.root, "usr/lib/systemd/system/tbnet2.service")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// The program's place in the tree, where there is one to be found.
	text := strings.ReplaceAll(string(data), "=/usr/bin/", "="+r.root+"/usr/bin/")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("systemd-analyze", "verify", "--man=no", path).CombinedOutput()
	var ours []string
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "tbnet2") {
			ours = append(ours, line)
		}
	}
	if err != nil || len(ours) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}

// TestShell checks the script's form where a checker is installed, and its
// syntax anyway.
func TestShell(t *testing.T) {
	if out, err := exec.Command("sh", "-n", "install.sh").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if _, err := exec.LookPath("shellcheck"); err == nil {
		if out, err := exec.Command("shellcheck", "install.sh").CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}
}
