// SPDX-License-Identifier: Apache-2.0

package ctl_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tbnet2/tbnet2/ctl"
	"github.com/tbnet2/tbnet2/ctl/ctlfake"
)

// hung bounds a wait for what a server must do by itself.
const hung = 30 * time.Second

// closedByServer writes line again and again, and fails unless the server
// closes the connection. Nothing is read.
func closedByServer(t *testing.T, conn net.Conn, line string, pause time.Duration) {
	t.Helper()
	_ = conn.SetDeadline(time.Now().Add(hung))
	tick := time.NewTicker(max(pause, 1))
	defer tick.Stop()
	for {
		_, err := io.WriteString(conn, line)
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded):
			t.Fatal("the server keeps it")
		default:
			return
		}
		if pause > 0 {
			<-tick.C
		}
	}
}

// TestSlowRequestIsClosed: a request that comes a byte at a time does not last
// longer than one that does not come at all.
func TestSlowRequestIsClosed(t *testing.T) {
	_, path := serve(t, own(), ctl.Limits{Idle: 50 * time.Millisecond})
	conn := open(t, path)
	_, _ = io.WriteString(conn, `{"v":1,"id":1,"op":"`)
	closedByServer(t, conn, "x", 5*time.Millisecond)
}

// TestReaderThatNeverReads: whoever asks and does not read is closed when the
// socket is full, and asks no more.
func TestReaderThatNeverReads(t *testing.T) {
	_, path := serve(t, own(), ctl.Limits{Write: 50 * time.Millisecond})
	closedByServer(t, open(t, path), `{"v":1,"id":1,"op":"status"}`+"\n", 0)
	if _, err := ctl.NewClient(path).Status(t.Context()); err != nil {
		t.Error(err)
	}
}

// firehose has events without end.
type firehose struct {
	*ctlfake.Backend
	ended chan error
}

func (f firehose) Events(_ context.Context, _ bool, each func(ctl.Event) error) (err error) {
	e := ctl.Event{SchemaVersion: 1, Kind: ctl.EventRail, Message: strings.Repeat("long ", 100)}
	for err == nil {
		err = each(e)
	}
	f.ended <- err
	return err
}

// TestFollowerThatNeverReads: events to one who does not read end.
func TestFollowerThatNeverReads(t *testing.T) {
	b := firehose{ctlfake.New(ctlfake.Sample()), make(chan error, 1)}
	path := serveBackend(t, b, own(), ctl.Limits{Write: 50 * time.Millisecond})
	_, _ = io.WriteString(open(t, path), `{"v":1,"id":1,"op":"events","args":{"follow":true}}`+"\n")
	select {
	case err := <-b.ended:
		if err == nil {
			t.Error("they ended without an error")
		}
	case <-time.After(hung):
		t.Error("they go on")
	}
}

// TestDescriptorsInARequest: descriptors sent along are not kept.
func TestDescriptorsInARequest(t *testing.T) {
	_, path := serve(t, own(), ctl.Limits{})
	conn := open(t, path).(*net.UnixConn)
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	in := bufio.NewReader(conn)
	_, _ = io.WriteString(conn, `{"v":1,"id":1,"op":"stats"}`+"\n")
	read(t, in) // the server has taken the connection
	before := descriptors(t)
	rights := syscall.UnixRights(int(file.Fd()), int(file.Fd()))
	for range 20 {
		if _, _, err := conn.WriteMsgUnix([]byte(`{"v":1,"id":1,"op":"stats"}`+"\n"), rights, nil); err != nil {
			t.Fatal(err)
		}
		if r := read(t, in); r.OK == nil {
			t.Fatalf("got %+v", r)
		}
	}
	if got := descriptors(t); got > before {
		t.Errorf("%d descriptors are open, %d before", got, before)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// TestFullQueue: while others fill the socket's queue a client waits, and says
// so if it has to give up.
func TestFullQueue(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), path)
	defer func() { _ = file.Close() }()
	if err := errors.Join(syscall.Bind(fd, &syscall.SockaddrUnix{Name: path}), syscall.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	for {
		conn, err := net.Dial("unix", path)
		if errors.Is(err, syscall.EAGAIN) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.Close() // it stays in the queue
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := ctl.NewClient(path).Status(ctx); ctl.CodeOf(err) != ctl.CodeBusy {
		t.Errorf("got %v", err)
	}
	ln, err := net.FileListener(file)
	if err != nil {
		t.Fatal(err)
	}
	s := ctl.NewServer(ctlfake.New(ctlfake.Sample()), own(), ctl.Limits{}, nil)
	served, asked := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := ctl.NewClient(path).Status(t.Context())
		asked <- err
	}()
	go func() { served <- s.Serve(ln.(*net.UnixListener)) }()
	if err := <-asked; err != nil {
		t.Error(err)
	}
	if err := errors.Join(s.Close(), <-served); err != nil {
		t.Error(err)
	}
}
