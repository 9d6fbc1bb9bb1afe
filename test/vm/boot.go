// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// The guest writes its verdict to port 0xf4 and QEMU then exits with twice that
// plus one. The values are none that QEMU itself exits with.
const (
	exitPass = 2*0x10 + 1
	exitFail = 2*0x11 + 1
)

// commandLine is the kernel's command line. loglevel 5 shows warnings and worse on
// the console at once; the rest is in dmesg.log. The watchdogs are made patient:
// the emulated CPUs stand still while the machine does other things.
const commandLine = "console=ttyS0 panic=-1 loglevel=5 mitigations=off kasan_multi_shot " +
	"watchdog_thresh=60 rcupdate.rcu_cpu_stall_timeout=120 hung_task_panic=0"

// run is one boot: what QEMU gets.
type run struct {
	kernel *kernel
	test   *test
	dir    string // for initramfs, console.log, dmesg.log
}

// arguments are QEMU's. Serial port 0 is the console, 1 takes dmesg at the end.
func (r *run) arguments(console, initrd string) []string {
	return []string{
		"-accel", "tcg,thread=multi,tb-size=256", "-M", "pc", "-cpu", "Nehalem,+rdrand",
		"-smp", fmt.Sprint(r.test.cpus), "-m", fmt.Sprint(r.test.memory),
		"-display", "none", "-nodefaults", "-no-reboot", "-nic", "none",
		"-serial", console, "-serial", "file:" + filepath.Join(r.dir, "dmesg.log"),
		"-kernel", r.kernel.vmlinux, "-initrd", initrd, "-append", commandLine,
		"-device", "isa-debug-exit,iobase=0xf4,iosize=4",
	}
}

// boot runs the test and gives how the guest ended and what it logged. An error
// is one of this machine's: no QEMU, no room.
func (r *run) boot(root string) (ended string, log []byte, err error) {
	initrd, err := r.prepare(root)
	if err != nil {
		return "", nil, err
	}
	defer os.Remove(initrd)
	console := filepath.Join(r.dir, "console.log")
	ctx, cancel := context.WithTimeout(context.Background(), r.test.timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "qemu-system-x86_64", r.arguments("file:"+console, initrd)...)
	cmd.WaitDelay = 5 * time.Second
	said, err := cmd.CombinedOutput()
	ended, err = ending(ctx, err, said)
	if err != nil {
		return "", nil, err
	}
	for _, path := range []string{console, filepath.Join(r.dir, "dmesg.log")} {
		b, err := os.ReadFile(path)
		if err != nil {
			return "", nil, err
		}
		log = append(append(log, b...), '\n')
	}
	if ended == outcomePass && !strings.Contains(string(log), "vm: exit 0") {
		ended = outcomeDied
	}
	return ended, log, nil
}

// ending reads QEMU's exit code.
func ending(ctx context.Context, err error, said []byte) (string, error) {
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return outcomeTimeout, nil
	case err == nil:
		return outcomeDied, nil // the guest rebooted or powered off: init never does
	case !errors.As(err, &exit):
		return "", fmt.Errorf("qemu-system-x86_64: %w (run scripts/deps.sh)", err)
	case exit.ExitCode() == exitPass:
		return outcomePass, nil
	case exit.ExitCode() == exitFail:
		return outcomeFail, nil
	}
	return "", fmt.Errorf("qemu-system-x86_64: %w: %s", err, said)
}

// prepare empties the run's folder and leaves the initramfs in it.
func (r *run) prepare(root string) (string, error) {
	if err := os.RemoveAll(r.dir); err != nil {
		return "", err
	}
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return "", err
	}
	b, err := initramfs(root, r.kernel, r.test)
	if err != nil {
		return "", err
	}
	initrd := filepath.Join(r.dir, "initramfs")
	return initrd, os.WriteFile(initrd, b, 0o644)
}

// shell boots with the console on this terminal, until the guest ends.
func (r *run) shell(root string) error {
	initrd, err := r.prepare(root)
	if err != nil {
		return err
	}
	cmd := exec.Command("qemu-system-x86_64", r.arguments("mon:stdio", initrd)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && (exit.ExitCode() == exitPass || exit.ExitCode() == exitFail) {
		return nil
	}
	return err
}
