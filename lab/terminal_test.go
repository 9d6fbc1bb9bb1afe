// SPDX-License-Identifier: Apache-2.0

package lab_test

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tbnet2/tbnet2/lab"
)

// userTerminal is a terminal as a user has one, and the user's side of it.
func userTerminal(t *testing.T) (user, tty *os.File) {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("needs /dev/ptmx: %v", err)
	}
	user = os.NewFile(uintptr(fd), "user")
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	peer, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
	if errno != 0 {
		t.Fatal(errno)
	}
	tty = os.NewFile(peer, "tty")
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 33, Col: 77}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tty.Close(); _ = user.Close() })
	return user, tty
}

// screen is all that the user has seen.
type screen struct {
	user *os.File
	seen strings.Builder
}

// await reads until the screen holds a text.
func (s *screen) await(t *testing.T, want string) {
	t.Helper()
	buf := make([]byte, 1024)
	for !strings.Contains(s.seen.String(), want) {
		n, err := s.user.Read(buf)
		if err != nil {
			t.Fatalf("want %q, saw %q, then %v", want, s.seen.String(), err)
		}
		s.seen.Write(buf[:n])
	}
}

func TestServedTerminal(t *testing.T) {
	c, _ := up(t, direct(lab.Pair(1, 1)), netMode(t))
	user, tty := userTerminal(t)
	was, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	script := `stty size; test -t 0 && test -t 1 && echo is-a-terminal; exec sed -u s/^/got-/`
	type result struct {
		code int
		err  error
	}
	done := make(chan result, 1)
	go func() {
		code, err := c.Exec(t.Context(), lab.ExecOptions{
			Host: "a", Args: []string{"sh", "-c", script}, Stdin: tty, Stdout: tty, Stderr: tty, Terminal: true,
		})
		done <- result{code, err}
	}()
	sees := &screen{user: user}
	sees.await(t, "33 77")
	sees.await(t, "is-a-terminal")
	if _, err := user.WriteString("hello\r"); err != nil {
		t.Fatal(err)
	}
	sees.await(t, "got-hello")
	if _, err := user.WriteString("\x03"); err != nil { // Ctrl-C
		t.Fatal(err)
	}
	if r := <-done; r.err != nil || r.code != 130 {
		t.Errorf("after Ctrl-C: %d, %v, want 130", r.code, r.err)
	}
	now, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
	if err != nil || *now != *was {
		t.Errorf("the user's terminal is not as it was: %+v, %v, want %+v", now, err, was)
	}
}

func TestTerminalNeedsOne(t *testing.T) {
	c, _ := up(t, direct(lab.Pair(1, 1)), netMode(t))
	r, w := pipe(t)
	_, err := c.Exec(t.Context(), lab.ExecOptions{Host: "a", Args: []string{"true"}, Stdin: r, Stdout: w, Stderr: w, Terminal: true})
	if err == nil || !strings.Contains(err.Error(), "stdin and stdout are none") {
		t.Errorf("a terminal over pipes: %v", err)
	}
}
