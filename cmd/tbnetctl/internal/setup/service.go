// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// Unit is the name of the daemon's systemd unit.
const Unit = "tbnet2.service"

// HaveSystemd tells whether systemd runs the machine and would start the
// daemon in this process's network namespace.
func HaveSystemd() bool {
	if _, err := os.Stat("/run/systemd/system"); err != nil {
		return false
	}
	one, err1 := os.Readlink("/proc/1/ns/net")
	own, err2 := os.Readlink("/proc/self/ns/net")
	return err1 == nil && err2 == nil && one == own
}

// HaveUnit tells whether the daemon's unit is installed.
func HaveUnit(ctx context.Context) bool {
	return exec.CommandContext(ctx, "systemctl", "cat", Unit).Run() == nil
}

// Systemctl runs systemctl; the error has what it printed.
func Systemctl(ctx context.Context, args ...string) error {
	out, err := exec.CommandContext(ctx, "systemctl", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("systemctl %s: %w: %s", strings.Join(args, " "), err, oneLine(out))
	}
	return nil
}

func oneLine(out []byte) string {
	return strings.Join(strings.Fields(string(bytes.TrimSpace(out))), " ")
}

// Background starts a process of its own session that writes to a log file.
// Exited is closed when it ends; then Err says why.
type Background struct {
	Exited chan struct{}
	Err    error
}

// StartBackground starts argv; its output is appended to the file at log.
func StartBackground(argv []string, log string) (*Background, error) {
	if err := os.MkdirAll(filepath.Dir(log), 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o640)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	begin, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = f, f, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	b := &Background{Exited: make(chan struct{})}
	go func() {
		defer close(b.Exited)
		b.Err = ended(cmd.Wait(), log, begin)
	}()
	return b, nil
}

// ended says why a process is gone, with the last line it wrote.
func ended(err error, log string, begin int64) error {
	if err == nil {
		err = errors.New("it ended by itself")
	}
	data, readErr := os.ReadFile(log)
	if readErr != nil || int64(len(data)) <= begin {
		return err
	}
	lines := strings.Split(strings.TrimSpace(string(data[begin:])), "\n")
	return fmt.Errorf("%w: %s", err, lines[len(lines)-1])
}
