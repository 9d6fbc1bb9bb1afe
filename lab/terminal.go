// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// IsTerminal reports whether f is a terminal.
func IsTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// terminal is a pseudoterminal for a command, joined to the caller's own
// terminal, which is raw meanwhile.
type terminal struct {
	tty    *os.File // the command's side
	master *os.File
	in     *os.File
	out    *os.File
	was    *unix.Termios
	unsign func()
	wake   [2]*os.File // closing [1] ends the copying of in
	wg     sync.WaitGroup
}

func openTerminal(in, out *os.File) (t *terminal, err error) {
	if in == nil || out == nil || !IsTerminal(in) || !IsTerminal(out) {
		return nil, errors.New("exec: a terminal is asked for, but stdin and stdout are none")
	}
	t = &terminal{in: in, out: out}
	if err := t.openPair(); err != nil {
		return nil, fmt.Errorf("exec: make a terminal: %w", err)
	}
	if t.wake[0], t.wake[1], err = os.Pipe(); err != nil {
		return nil, errors.Join(err, t.tty.Close(), t.master.Close())
	}
	t.resize()
	t.makeRaw()
	t.unsign = onSignals(func(syscall.Signal) { t.resize() }, unix.SIGWINCH)
	t.wg.Add(2)
	go t.copyIn()
	go t.copyOut()
	return t, nil
}

func (t *terminal) openPair() error {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	t.master = os.NewFile(uintptr(fd), "ptmx")
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return errors.Join(err, t.master.Close())
	}
	peer, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TIOCGPTPEER,
		unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
	if errno != 0 {
		return errors.Join(errno, t.master.Close())
	}
	t.tty = os.NewFile(peer, "tty")
	return nil
}

// resize gives the command's terminal the size of the caller's.
func (t *terminal) resize() {
	if size, err := unix.IoctlGetWinsize(int(t.in.Fd()), unix.TIOCGWINSZ); err == nil {
		_ = unix.IoctlSetWinsize(int(t.master.Fd()), unix.TIOCSWINSZ, size)
	}
}

// makeRaw passes every key on: the command's terminal makes signals and
// echoes of them.
func (t *terminal) makeRaw() {
	was, err := unix.IoctlGetTermios(int(t.in.Fd()), unix.TCGETS)
	if err != nil {
		return
	}
	t.was = was
	raw := *was
	raw.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
	raw.Oflag &^= unix.OPOST
	raw.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	raw.Cflag = raw.Cflag&^(unix.CSIZE|unix.PARENB) | unix.CS8
	raw.Cc[unix.VMIN], raw.Cc[unix.VTIME] = 1, 0
	_ = unix.IoctlSetTermios(int(t.in.Fd()), unix.TCSETS, &raw)
}

// copyIn passes keys to the command until it is woken or in ends.
func (t *terminal) copyIn() {
	defer t.wg.Done()
	buf := make([]byte, 4096)
	fds := []unix.PollFd{
		{Fd: int32(t.in.Fd()), Events: unix.POLLIN}, {Fd: int32(t.wake[0].Fd()), Events: unix.POLLIN},
	}
	for {
		if _, err := unix.Poll(fds, -1); err == unix.EINTR {
			continue
		} else if err != nil || fds[1].Revents != 0 {
			return
		}
		n, err := unix.Read(int(t.in.Fd()), buf)
		if n <= 0 || err != nil {
			return
		}
		if _, err := t.master.Write(buf[:n]); err != nil {
			return
		}
	}
}

// lastOutput is how long, in ms, the kernel may take to bring a command's last
// output from its side of the terminal to ours.
const lastOutput = 50

// copyOut shows what the command prints. Once woken it ends when there is no
// more, since a process left in the background may keep the terminal open.
func (t *terminal) copyOut() {
	defer t.wg.Done()
	buf := make([]byte, 32<<10)
	fds := []unix.PollFd{
		{Fd: int32(t.master.Fd()), Events: unix.POLLIN}, {Fd: int32(t.wake[0].Fd()), Events: unix.POLLIN},
	}
	timeout := -1
	for {
		n, err := unix.Poll(fds, timeout)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return
		}
		if fds[0].Revents != 0 {
			if !t.showSome(buf) {
				return
			}
			continue
		}
		fds, timeout = fds[:1], lastOutput
	}
}

// showSome is false at the end: EIO, once nobody has the command's side open.
func (t *terminal) showSome(buf []byte) bool {
	n, err := unix.Read(int(t.master.Fd()), buf)
	if n <= 0 || err != nil {
		return false
	}
	_, err = t.out.Write(buf[:n])
	return err == nil
}

// close shows what is left of the output and gives the caller's terminal back
// as it was.
func (t *terminal) close() error {
	errs := []error{t.tty.Close(), t.wake[1].Close()}
	t.unsign()
	t.wg.Wait()
	if t.was != nil {
		errs = append(errs, unix.IoctlSetTermios(int(t.in.Fd()), unix.TCSETS, t.was))
	}
	return errors.Join(append(errs, t.wake[0].Close(), t.master.Close())...)
}
