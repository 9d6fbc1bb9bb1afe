// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// dirVar names the labs' directory for the commands in a lab.
const dirVar = "TBNET2_LAB_DIR"

// ErrNoLab is wrapped where a lab of the name is not up.
var ErrNoLab = errors.New("no such lab")

// ErrExists is wrapped where a lab of the name is up already.
var ErrExists = errors.New("lab is up already")

// DefaultDir is where this user's served labs keep their state: a directory of
// its own in /run for root, in the user's run directory for others.
func DefaultDir() string {
	if dir := os.Getenv(dirVar); dir != "" {
		return dir
	}
	uid := OuterUID()
	if uid == 0 {
		return filepath.Join(runDir, "lab")
	}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		return filepath.Join(dir, "tbnet2", "lab")
	}
	return filepath.Join(os.TempDir(), "tbnet2-"+strconv.Itoa(uid), "lab")
}

// Info is what is known of a served lab from its files.
type Info struct {
	SchemaVersion int       `json:"schema_version"`
	Name          string    `json:"name"`
	ID            string    `json:"id"`
	PID           int       `json:"pid"` // of the serving process, as seen by itself
	Mode          Mode      `json:"mode"`
	NetNS         []string  `json:"netns,omitempty"` // names in `ip netns`
	Started       time.Time `json:"started"`
	Running       bool      `json:"-"` // false: left behind by a crash
}

// files are those of one lab. The lock is held for as long as the lab lives,
// and falls with its process.
type files struct {
	dir, name string
	lock      *os.File
}

func newFiles(dir, name string) (*files, error) {
	if !validName(name) {
		return nil, fmt.Errorf("bad lab name %q: 1 to %d letters, digits, - or _, beginning with a letter", name, nameMost)
	}
	if dir == "" {
		dir = DefaultDir()
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("labs' directory: %w", err)
	}
	f := &files{dir: dir, name: name}
	if len(f.socket()) >= len(unix.RawSockaddrUnix{}.Path) {
		return nil, fmt.Errorf("labs' directory %s: too long for a socket; name a shorter one", dir)
	}
	return f, nil
}

func (f *files) path(ext string) string { return filepath.Join(f.dir, f.name+ext) }
func (f *files) socket() string         { return f.path(".sock") }
func (f *files) state() string          { return f.path(".json") }
func (f *files) log() string            { return f.path(".log") }

// makeDir makes the labs' directory, for this user alone, and refuses one that
// somebody else made.
func (f *files) makeDir() error {
	if err := os.MkdirAll(filepath.Dir(f.dir), 0o755); err != nil {
		return fmt.Errorf("labs' directory: %w", err)
	}
	if err := os.Mkdir(f.dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("labs' directory: %w", err)
	}
	var st unix.Stat_t
	if err := unix.Stat(f.dir, &st); err != nil {
		return fmt.Errorf("labs' directory %s: %w", f.dir, err)
	}
	if int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("labs' directory %s: belongs to uid %d, not to you; remove it or set %s", f.dir, st.Uid, dirVar)
	}
	return nil
}

// acquire takes the lab's lock, or fails with ErrExists. The file is looked at
// again once it is locked, since the last owner may just have removed it.
func (f *files) acquire() error {
	for {
		lock, err := os.OpenFile(f.path(".lock"), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return fmt.Errorf("lab %s: lock: %w", f.name, err)
		}
		if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			_ = lock.Close()
			if errors.Is(err, unix.EWOULDBLOCK) {
				return fmt.Errorf("lab %s: %w", f.name, ErrExists)
			}
			return fmt.Errorf("lab %s: lock: %w", f.name, err)
		}
		if same(lock, f.path(".lock")) {
			f.lock = lock
			return nil
		}
		_ = lock.Close()
	}
}

// How long a process that has just been killed may take to give its lock back.
const (
	lockPatience = 2 * time.Second
	lockRetry    = 5 * time.Millisecond
)

// await takes the lock of a lab whose socket nobody answers.
func (f *files) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	for {
		err := f.acquire()
		if !errors.Is(err, ErrExists) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w, but does not answer on its socket", err)
		case <-time.After(lockRetry):
		}
	}
}

func same(open *os.File, path string) bool {
	a, err := open.Stat()
	if err != nil {
		return false
	}
	b, err := os.Stat(path)
	return err == nil && os.SameFile(a, b)
}

// release removes the lab's files, the lock last.
func (f *files) release() error {
	var errs []error
	for _, path := range []string{f.socket(), f.state(), f.log(), f.path(".lock")} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	errs = append(errs, f.lock.Close())
	f.lock = nil
	if f.dir == DefaultDir() {
		_ = os.Remove(f.dir) // not empty while there are others
		_ = os.Remove(filepath.Dir(f.dir))
	}
	return errors.Join(errs...)
}

// write puts a lab's state in place, whole or not at all.
func (f *files) write(in Info) error {
	b, err := json.MarshalIndent(in, "", "  ")
	if err != nil {
		return err
	}
	tmp := f.path(".json.tmp")
	if err := os.WriteFile(tmp, append(b, '\n'), 0o600); err != nil {
		return fmt.Errorf("lab %s: state: %w", f.name, err)
	}
	if err := os.Rename(tmp, f.state()); err != nil {
		return fmt.Errorf("lab %s: state: %w", f.name, err)
	}
	return nil
}

func (f *files) read() (Info, error) {
	var in Info
	b, err := os.ReadFile(f.state())
	if err != nil {
		return in, err
	}
	if err := json.Unmarshal(b, &in); err != nil {
		return in, fmt.Errorf("lab %s: state: %w", f.name, err)
	}
	return in, nil
}

// clean removes what a crashed lab left: processes, named namespaces, files.
// The lock is held.
func (f *files) clean() error {
	if err := os.Remove(f.socket()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	in, err := f.read()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	// A named namespace is held by its name, so that its inode is still its own.
	inodes := map[uint64]bool{}
	for _, name := range in.NetNS {
		if inode := namedInode(name); inode != 0 {
			inodes[inode] = true
		}
	}
	errs := []error{reap(inNamespaces(inodes), marked(in.ID))}
	for _, name := range in.NetNS {
		errs = append(errs, unnameNetNS(name))
	}
	return errors.Join(errs...)
}

// List gives the served labs of a directory ("" for DefaultDir), also those
// that a crash left behind.
func List(dir string) ([]Info, error) {
	if dir == "" {
		dir = DefaultDir()
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	var labs []Info
	for _, path := range paths {
		f, err := newFiles(dir, strings.TrimSuffix(filepath.Base(path), ".json"))
		if err != nil {
			continue // not ours
		}
		in, err := f.read()
		if err != nil {
			return labs, err
		}
		in.Running = f.locked()
		labs = append(labs, in)
	}
	return labs, nil
}

// locked reports whether a process serves the lab.
func (f *files) locked() bool {
	lock, err := os.Open(f.path(".lock"))
	if err != nil {
		return false
	}
	defer lock.Close()
	err = unix.Flock(int(lock.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	return errors.Is(err, unix.EWOULDBLOCK)
}
