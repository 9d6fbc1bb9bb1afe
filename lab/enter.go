// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// entryVar tells Main what a process was started for.
const entryVar = "TBNET2_LAB_ENTRY"

// Entries.
const (
	entryUser = "user" // the first process of a user namespace
	entryExec = "exec" // becomes a command inside a host
)

// Main makes the processes that this package starts what they are for. Call it
// before anything else in main (in tests: in TestMain). In an ordinary process
// it does nothing; in one started for Node.Command, an exec or Up it does not
// return; in one started by Enter it readies the namespaces and returns.
func Main() error {
	entry := os.Getenv(entryVar)
	if err := os.Unsetenv(entryVar); err != nil {
		return err
	}
	switch entry {
	case "":
		return nil
	case entryUser:
		return loopbackUp()
	case entryExec:
		os.Exit(becomeCommand())
	case entryServe:
		os.Exit(becomeServer())
	case entryUserServe:
		if err := loopbackUp(); err != nil {
			return err
		}
		os.Exit(becomeServer())
	}
	return fmt.Errorf("%s=%q: unknown; unset it", entryVar, entry)
}

// checkMain fails in a program that forgot Main, which would otherwise start
// itself without end.
func checkMain() error {
	if os.Getenv(entryVar) != "" {
		return errors.New("this program must call lab.Main first in its main function")
	}
	return nil
}

// EnterOptions say how the program is started again.
type EnterOptions struct {
	Args   []string  // after the program's name
	Env    []string  // nil: this process's
	Stdin  io.Reader // nil: empty
	Stdout io.Writer // nil: discarded
	Stderr io.Writer // nil: discarded
	// ExtraFiles become descriptors 3, 4, ...
	ExtraFiles []*os.File
}

// Enter runs this program again as root of a new user namespace, with network,
// mount and host name namespaces of its own, and waits for it. Signals that
// this process gets go to it. It returns the exit code, 128 plus the number
// where a signal ended it. When ctx ends, the program is killed.
func Enter(ctx context.Context, o EnterOptions) (int, error) {
	if err := checkMain(); err != nil {
		return 0, err
	}
	cmd := enterCommand(ctx, o)
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("enter user namespace: %w%s", err, userNamespaceHint())
	}
	stop := forwardSignals(cmd.Process)
	err := cmd.Wait()
	stop()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return exitCode(exit.ProcessState), nil
	}
	return 0, err
}

func enterCommand(ctx context.Context, o EnterOptions) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "/proc/self/exe", o.Args...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = o.Env
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(cmd.Env, entryVar+"="+entryUser)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = o.Stdin, o.Stdout, o.Stderr, o.ExtraFiles
	cmd.SysProcAttr = enterAttr()
	return cmd
}

// enterAttr maps this process's user and group to root of new namespaces.
func enterAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNET | unix.CLONE_NEWNS | unix.CLONE_NEWUTS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
	}
}

// forwardSignals passes on to p the signals that ask a program to end or tell
// it something, until stop is called.
func forwardSignals(p *os.Process) (stop func()) {
	return onSignals(func(sig syscall.Signal) { _ = p.Signal(sig) }, passed()...)
}

// passed are the signals that are for the command, not for who waits for it.
func passed() []os.Signal {
	return []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2}
}

// onSignals calls f for signals until stop is called, which waits for f.
func onSignals(f func(syscall.Signal), sigs ...os.Signal) (stop func()) {
	ch := make(chan os.Signal, 8)
	signal.Notify(ch, sigs...)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for sig := range ch {
			if s, ok := sig.(syscall.Signal); ok {
				f(s)
			}
		}
	}()
	return func() {
		signal.Stop(ch)
		close(ch)
		<-done
	}
}

// exitCode is a shell's: 128 plus the signal where one ended the process.
func exitCode(p *os.ProcessState) int {
	if ws, ok := p.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return p.ExitCode()
}

// loopbackUp raises lo in the network namespace of this thread.
func loopbackUp() error {
	h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("open netlink: %w", err)
	}
	defer h.Close()
	lo, err := h.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("find the loopback device: %w", err)
	}
	if err := h.LinkSetUp(lo); err != nil {
		return fmt.Errorf("raise the loopback device: %w", err)
	}
	return nil
}
