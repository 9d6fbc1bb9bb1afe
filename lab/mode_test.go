// SPDX-License-Identifier: Apache-2.0

package lab_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tbnet2/tbnet2/lab"
)

func TestDetectSaysWhy(t *testing.T) {
	d := lab.Detect()
	if len(d.Modes) != 3 || !d.Get(d.Best).OK || !d.Get(lab.ModeMemory).OK {
		t.Errorf("Detect: %+v", d)
	}
	for _, s := range d.Modes {
		if s.OK == (s.Why != "") {
			t.Errorf("%s: ok is %v, but why is %q", s.Mode, s.OK, s.Why)
		}
	}
	if why := d.Get("magic").Why; !strings.Contains(why, `unknown mode "magic"`) {
		t.Errorf("an unknown mode: %q", why)
	}
	if _, err := lab.New(t.Context(), lab.Pair(1, 1), "magic"); !errors.Is(err, lab.ErrMode) {
		t.Errorf("New in an unknown mode: %v, want %v", err, lab.ErrMode)
	}
}

func TestUserNamespaceNeedsEnter(t *testing.T) {
	needsEnter(t)
	_, err := lab.New(t.Context(), lab.Pair(1, 1), lab.ModeUserNamespace)
	if !errors.Is(err, lab.ErrMode) || !strings.Contains(err.Error(), "lab.Enter") {
		t.Errorf("New outside: %v, want %v and what to do", err, lab.ErrMode)
	}
}

// TestUnprivileged runs tests of this package as an ordinary user, for whom
// TestMain enters a user namespace.
func TestUnprivileged(t *testing.T) {
	if os.Getuid() != 0 || lab.OuterUID() != 0 {
		t.Skip("needs root, to become an ordinary user; others run every test so")
	}
	const nobody = 65534
	dir := readable(t)
	exe := filepath.Join(dir, "lab.test")
	copyFile(t, "/proc/self/exe", exe)
	cmd := exec.CommandContext(t.Context(), exe, "-test.v", "-test.run",
		"TestNothingIsLeft|TestServed|TestCommand|TestCloseEnds|TestDownAfterCrash|TestVerifyOverKernel/direct|TestVerifyOverFabric|TestDelay|TestLoss|TestEntered|TestUnplug|TestOpenRails")
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "TBNET2_TEST_ENTERED=yes"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("as nobody: %v\n%s", err, out)
	}
	for _, want := range []string{"--- PASS: TestNothingIsLeft", "--- PASS: TestServedExec", "--- PASS: TestEntered", "--- PASS: TestVerifyOverFabric/namespaces", "--- PASS: TestLossIsCountedExactly", "--- PASS: TestUnplugTakesCarrier/namespaces", "--- PASS: TestDownAfterCrash"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("as nobody: no %q in\n%s", want, out)
		}
	}
}

// TestEntered is run by TestUnprivileged.
func TestEntered(t *testing.T) {
	if os.Getenv("TBNET2_TEST_ENTERED") == "" {
		t.Skip("needs to be run by TestUnprivileged")
	}
	if uid := lab.OuterUID(); os.Getuid() != 0 || uid != 65534 {
		t.Errorf("uid is %d, outside %d, want 0 and 65534", os.Getuid(), uid)
	}
	d := lab.Detect()
	if s := d.Get(lab.ModeUserNamespace); d.Best != lab.ModeUserNamespace || !s.OK || s.Enter {
		t.Errorf("Detect: %+v", d)
	}
}

func needsEnter(t *testing.T) {
	t.Helper()
	s := lab.Detect().Get(lab.ModeUserNamespace)
	if !s.OK {
		t.Skipf("needs a user namespace to enter: %s", s.Why)
	}
	if !s.Enter {
		t.Skip("needs to be outside of the user namespace that TestMain has entered")
	}
}

func TestEnterPassesExitCode(t *testing.T) {
	needsEnter(t)
	code, err := lab.Enter(context.Background(), lab.EnterOptions{Args: []string{"-test.run", "("}})
	if err != nil || code != 1 {
		t.Errorf("a program that fails: %d, %v, want 1", code, err)
	}
	code, err = lab.Enter(context.Background(), lab.EnterOptions{Args: []string{"-test.run", "TestBuilders"}})
	if err != nil || code != 0 {
		t.Errorf("a program that succeeds: %d, %v, want 0", code, err)
	}
}

// readable is a directory that any user may enter, with all above it.
func readable(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "lab")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}
