// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// PidFile is a running daemon's mark: its process id, in a file it keeps
// locked, so that a number left behind by a crash is never taken for it.
type PidFile struct{ file *os.File }

// TakePidFile locks the file and writes this process's id. It is an error if
// another process has it.
func TakePidFile(path string) (*PidFile, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("%s is locked: a daemon runs already", path)
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = fmt.Fprintf(f, "%d\n", os.Getpid())
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return &PidFile{f}, nil
}

// Close removes the file.
func (p *PidFile) Close() error {
	return errors.Join(os.Remove(p.file.Name()), p.file.Close())
}

// Running gives the id of the process that has the file; 0 where none has.
func Running(path string) (int, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	if unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) == nil {
		return 0, nil // nobody holds it
	}
	data := make([]byte, 32)
	n, _ := f.Read(data)
	pid, err := strconv.Atoi(strings.TrimSpace(string(data[:n])))
	if err != nil || pid < 2 {
		return 0, fmt.Errorf("%s has no process id in it", path)
	}
	return pid, nil
}

// Stop ends the process that has the file and waits until it has let go.
func Stop(ctx context.Context, path string) error {
	pid, err := Running(path)
	if err != nil || pid == 0 {
		return err
	}
	if err := unix.Kill(pid, unix.SIGTERM); err != nil {
		return fmt.Errorf("stop the daemon (process %d): %w", pid, err)
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		now, err := Running(path)
		if err != nil || now == 0 {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("the daemon (process %d) does not stop: see its log", pid)
		}
	}
}
