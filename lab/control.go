// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// ControlVersion is that of the control protocol: JSON objects, one a line,
// over a unix socket. Each connection carries one request; the client's stdin,
// stdout and stderr come with an exec's, and its signals as further lines.
const ControlVersion = 1

// lineMost bounds a line, which may hold an environment.
const lineMost = 4 << 20

// operations of a request.
const (
	opStatus = "status"
	opDown   = "down"
	opUnplug = "unplug"
	opPlug   = "plug"
	opSet    = "set"
	opExec   = "exec"
	opVerify = "verify"
	opSignal = "signal"
)

type request struct {
	Version int          `json:"version"`
	Op      string       `json:"op"`
	Target  string       `json:"target,omitempty"`
	Change  *Change      `json:"change,omitempty"`
	Exec    *execRequest `json:"exec,omitempty"`
	Verify  *VerifyPlan  `json:"verify,omitempty"`
	Signal  int          `json:"signal,omitempty"`
}

type reply struct {
	Version int     `json:"version"`
	Error   string  `json:"error,omitempty"`
	Code    string  `json:"code,omitempty"`
	Status  *Status `json:"status,omitempty"`
	Exit    *int    `json:"exit,omitempty"`
	Report  *Report `json:"report,omitempty"`
}

// codes are the errors that callers branch on, by their name on the wire.
func codes() map[string]error {
	return map[string]error{"no_command": ErrNoCommand, "closed": ErrClosed, "exists": ErrExists, "mode": ErrMode}
}

// remoteError is a server's error with what it is.
type remoteError struct {
	text string
	is   error
}

func (e *remoteError) Error() string { return e.text }
func (e *remoteError) Unwrap() error { return e.is }

func (r *reply) setError(err error) {
	if err == nil {
		return
	}
	r.Error = err.Error()
	for code, is := range codes() {
		if errors.Is(err, is) {
			r.Code = code
		}
	}
}

func (r *reply) err() error {
	if r.Error == "" {
		return nil
	}
	return &remoteError{text: r.Error, is: codes()[r.Code]}
}

// lines carries JSON lines, and descriptors with them. One goroutine may read
// while another writes.
type lines struct {
	conn  *net.UnixConn
	held  []byte
	files []*os.File
}

// read gives the next line in v. Descriptors that came are in files.
func (l *lines) read(v any) error {
	buf := make([]byte, 64<<10)
	oob := make([]byte, unix.CmsgSpace(4*8))
	for {
		if i := bytes.IndexByte(l.held, '\n'); i >= 0 {
			line := l.held[:i]
			l.held = l.held[i+1:]
			return json.Unmarshal(line, v)
		}
		if len(l.held) > lineMost {
			return fmt.Errorf("a line is longer than %d bytes", lineMost)
		}
		n, oobn, _, _, err := l.conn.ReadMsgUnix(buf, oob)
		l.held = append(l.held, buf[:max(n, 0)]...) // -1 on an error
		if err := l.take(oob[:oobn]); err != nil {
			return err
		}
		if err != nil {
			return err
		}
		if n == 0 {
			return net.ErrClosed
		}
	}
}

// take keeps the descriptors of a message; too many are closed, not kept.
func (l *lines) take(oob []byte) error {
	if len(oob) == 0 {
		return nil
	}
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return fmt.Errorf("descriptors: %w", err)
	}
	for i := range msgs {
		fds, err := unix.ParseUnixRights(&msgs[i])
		if err != nil {
			continue // of another kind
		}
		for _, fd := range fds {
			unix.CloseOnExec(fd)
			l.files = append(l.files, os.NewFile(uintptr(fd), "passed"))
		}
	}
	if len(l.files) > 3 {
		l.closeFiles()
		return errors.New("more descriptors than stdin, stdout and stderr")
	}
	return nil
}

func (l *lines) closeFiles() {
	for _, f := range l.files {
		_ = f.Close()
	}
	l.files = nil
}

// write sends v as a line, with descriptors.
func (l *lines) write(v any, fds ...int) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	b = append(b, '\n')
	if len(fds) > 0 {
		n, _, err := l.conn.WriteMsgUnix(b, unix.UnixRights(fds...), nil)
		if err != nil {
			return err
		}
		b = b[n:]
	}
	if len(b) > 0 { // an empty write fails where the answer is here already
		_, err = l.conn.Write(b)
	}
	return err
}
