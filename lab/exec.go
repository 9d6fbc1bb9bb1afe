// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// execRequest asks for a command in a host, with the caller's stdin, stdout
// and stderr.
type execRequest struct {
	Host string   `json:"host"`
	Args []string `json:"args"`
	Env  []string `json:"env"`
	Dir  string   `json:"dir"`
	// Terminal: stdin is a terminal that the command shall control.
	Terminal bool `json:"terminal,omitempty"`
}

// exec runs the command of a request and passes signals on to its process
// group until it ends. A client that goes away hangs up on the command.
func (s *server) exec(c *lines, r *execRequest) (int, error) {
	cmd, err := s.command(c, r)
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("host %s: exec: %w", r.Host, err)
	}
	c.closeFiles()
	var ended atomic.Bool // the group may be others' by then
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		for !ended.Load() {
			sig, more := nextSignal(c)
			if !ended.Load() && sig != 0 {
				_ = unix.Kill(-cmd.Process.Pid, sig)
			}
			if !more {
				return
			}
		}
	}()
	err = cmd.Wait()
	ended.Store(true)
	_ = c.conn.CloseRead()
	<-heard
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return exitCode(exit.ProcessState), nil
	}
	return 0, err
}

// nextSignal waits for the client to send a signal, 0 for what is none, or to
// go away.
func nextSignal(c *lines) (sig unix.Signal, more bool) {
	var next request
	if err := c.read(&next); err != nil {
		return unix.SIGHUP, false
	}
	if next.Op != opSignal {
		return 0, true
	}
	return unix.Signal(next.Signal), true
}

func (s *server) command(c *lines, r *execRequest) (*exec.Cmd, error) {
	n, err := s.lab.Find(r.Host)
	if err != nil {
		return nil, err
	}
	if len(r.Args) == 0 {
		return nil, errors.New("exec: no command is named")
	}
	// Not bound to a context: the lab's end reaps what still runs.
	cmd, err := n.Command(context.Background(), r.Args[0], r.Args[1:]...)
	if err != nil {
		return nil, err
	}
	if len(c.files) != 3 {
		return nil, fmt.Errorf("exec: %d descriptors came, not stdin, stdout and stderr", len(c.files))
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.files[0], c.files[1], c.files[2]
	cmd.Env = append(append([]string{}, r.Env...), append(n.marks(), dirVar+"="+s.files.dir)...)
	cmd.Dir = r.Dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if r.Terminal {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	}
	return cmd, nil
}
