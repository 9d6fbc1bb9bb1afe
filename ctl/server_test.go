// SPDX-License-Identifier: Apache-2.0

package ctl_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/tbnet2/tbnet2/ctl"
	"github.com/tbnet2/tbnet2/ctl/ctlfake"
)

func TestMain(m *testing.M) {
	if path := os.Getenv("CTL_TEST_SOCKET"); path != "" {
		os.Exit(asStranger(path))
	}
	goleak.VerifyTestMain(m)
}

// serve starts a server of the sample on a socket of its own.
func serve(t *testing.T, a ctl.Access, l ctl.Limits) (*ctlfake.Backend, string) {
	t.Helper()
	fake := ctlfake.New(ctlfake.Sample())
	return fake, serveBackend(t, fake, a, l)
}

func serveBackend(t *testing.T, b ctl.Backend, a ctl.Access, l ctl.Limits) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "s")
	ln, err := ctl.ListenSocket(path)
	if err != nil {
		t.Fatal(err)
	}
	s := ctl.NewServer(b, a, l, nil)
	done := make(chan error, 1)
	go func() { done <- s.Serve(ln) }()
	t.Cleanup(func() {
		_ = s.Close()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return path
}

func own() ctl.Access { return ctl.Access{UID: uint32(os.Getuid())} }

func TestClientAgainstServer(t *testing.T) {
	fake, path := serve(t, own(), ctl.Limits{})
	ctx, c := t.Context(), ctl.NewClient(path)
	want := ctlfake.Sample()
	got, err := c.Status(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(&want, got); d != "" {
		t.Errorf("Status (-want +got):\n%s", d)
	}
	stats, err := c.Stats(ctx)
	if err != nil || !cmp.Equal(stats, want.Stats()) {
		t.Errorf("Stats: got %+v, %v", stats, err)
	}
	use, err := c.SetRails(ctx, ctl.RailSet{Target: "node2", Rails: []ctl.RailChoice{{Name: "tbr1", Weight: 2}}})
	if err != nil || use.Peers[0].Rails[0] != (ctl.RailChoice{Name: "tbr1", Weight: 2}) {
		t.Errorf("SetRails: got %+v, %v", use, err)
	}
	if err := c.SetRailUp(ctx, "tbr1", false); err != nil {
		t.Error(err)
	}
	if err := c.SetBond(ctx, ctl.BondChange{Name: "tbbond0", MTU: 9000}); err != nil {
		t.Error(err)
	}
	after, _ := fake.Status(ctx)
	if r := after.Rails[1]; !r.InUse || r.Weight != 2 || r.Enabled || after.Rails[0].InUse || after.Bonds[0].MTU != 9000 {
		t.Errorf("after the changes: %+v, bond %+v", r, after.Bonds[0])
	}
	if err := c.Reload(ctx); err != nil || fake.Reloads() != 1 {
		t.Errorf("Reload: %v, called %d times", err, fake.Reloads())
	}
	err = c.SetRailUp(ctx, "nope", true)
	if ctl.CodeOf(err) != ctl.CodeNotFound || !strings.Contains(err.Error(), `"nope"`) {
		t.Errorf("unknown rail: got %v (%v)", err, ctl.CodeOf(err))
	}
}

func TestEventsAndBench(t *testing.T) {
	fake, path := serve(t, own(), ctl.Limits{})
	c := ctl.NewClient(path)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	got := make(chan ctl.Event)
	ended := make(chan error, 1)
	go func() {
		ended <- c.Events(ctx, true, func(e ctl.Event) error { got <- e; return nil })
	}()
	waitFor(t, "a listener", func() bool { return fake.Listeners() == 1 })
	want := ctl.Event{SchemaVersion: 1, Kind: ctl.EventRail, Rail: "tbr0", State: "down", Message: "tbr0 is down"}
	fake.Emit(want)
	var past []ctl.Event
	if err := c.Events(t.Context(), false, func(e ctl.Event) error { past = append(past, e); return nil }); err != nil || !cmp.Equal(past, []ctl.Event{want}) {
		t.Errorf("past events: got %+v, %v", past, err)
	}
	if e := <-got; !cmp.Equal(e, want) {
		t.Errorf("got %+v, want %+v", e, want)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Events: %v", err)
	}
	waitFor(t, "the listener's end", func() bool { return fake.Listeners() == 0 })

	result := ctl.BenchResult{SchemaVersion: 1, Peer: "node2", Runs: []ctl.BenchRun{
		{Direction: ctl.Sending, Flows: 1, BPS: 100}, {Direction: ctl.Receiving, Flows: 1, BPS: 50}}}
	fake.SetBench(result)
	var progress []string
	r, err := c.Bench(t.Context(), ctl.BenchRequest{Peer: "node2", Seconds: 1, Flows: []int{1}}, func(p ctl.BenchProgress) {
		progress = append(progress, p.Direction)
	})
	if err != nil || !cmp.Equal(*r, result) || !cmp.Equal(progress, []string{ctl.Sending, ctl.Receiving}) {
		t.Errorf("Bench: got %+v, %v, progress %v", r, err, progress)
	}
	if got := r.Ratio(1); got != 2 {
		t.Errorf("Ratio: got %v, want 2", got)
	}
}

// waitFor polls cond; it uses the socket's own pace instead of a sleep.
func waitFor(t *testing.T, what string, cond func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(10 * time.Second)
	for !cond() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// TestBadRequests sends what no client sends; the server answers or closes and
// goes on serving others.
func TestBadRequests(t *testing.T) {
	_, path := serve(t, own(), ctl.Limits{})
	cases := []struct {
		name, send string
		code       ctl.Code
		closed     bool
	}{
		{"not json", "hello\n", ctl.CodeMalformed, true},
		{"endless", strings.Repeat("x", ctl.RequestMax+1), ctl.CodeMalformed, true},
		{"endless nesting", `{"v":1,"id":1,"op":"x","args":` + strings.Repeat("[", 30000) + "\n", ctl.CodeMalformed, true},
		{"unknown op", `{"v":1,"id":1,"op":"explode"}` + "\n", ctl.CodeUnsupported, false},
		{"too new", `{"v":99,"id":1,"op":"status"}` + "\n", ctl.CodeVersion, false},
		{"no args", `{"v":1,"id":1,"op":"rail_up"}` + "\n", ctl.CodeInvalid, false},
		{"wrong args", `{"v":1,"id":1,"op":"rail_up","args":{"rail":5}}` + "\n", ctl.CodeInvalid, false},
		{"unknown args", `{"v":1,"id":1,"op":"rails_set","args":{"targets":"x"}}` + "\n", ctl.CodeInvalid, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			conn := open(t, path)
			in := bufio.NewReader(conn)
			go func() { _, _ = conn.Write([]byte(c.send)) }()
			r := read(t, in)
			if r.Error == nil || r.Error.Code != c.code {
				t.Fatalf("got %+v, want code %v", r, c.code)
			}
			if c.closed {
				if _, err := in.ReadByte(); err == nil {
					t.Error("the connection goes on")
				}
				return
			}
			_, _ = conn.Write([]byte(`{"v":1,"id":2,"op":"stats"}` + "\n"))
			if r := read(t, in); r.ID != 2 || r.OK == nil {
				t.Errorf("next request: got %+v", r)
			}
		})
	}
	if _, err := ctl.NewClient(path).Status(t.Context()); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func open(t *testing.T, path string) net.Conn {
	t.Helper()
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	return conn
}

func read(t *testing.T, in *bufio.Reader) ctl.Response {
	t.Helper()
	line, err := in.ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var r ctl.Response
	if err := json.Unmarshal(line, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRequestsInOnePiece(t *testing.T) {
	_, path := serve(t, own(), ctl.Limits{})
	conn := open(t, path)
	_, _ = conn.Write([]byte("{\"v\":1,\"id\":1,\"op\":\"status\"}\n{\"v\":1,\"id\":2,\"op\":\"stats\"}\n"))
	in := bufio.NewReader(conn)
	for want := uint64(1); want <= 2; want++ {
		if r := read(t, in); r.ID != want || r.OK == nil {
			t.Fatalf("got id %d, error %v; want id %d", r.ID, r.Error, want)
		}
	}
}

func TestSilentClientIsClosed(t *testing.T) {
	_, path := serve(t, own(), ctl.Limits{Idle: 20 * time.Millisecond})
	conn := open(t, path)
	_, _ = conn.Write([]byte(`{"v":1,`))
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Fatal("the server answered half a request")
	} else if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal("the server keeps a silent client")
	}
}

func TestTooManyClients(t *testing.T) {
	_, path := serve(t, own(), ctl.Limits{Clients: 6, ClientsOfUser: 2})
	limit := 2
	if os.Getuid() == 0 {
		limit = 6 // root may take all
	}
	var conns []net.Conn
	for range limit {
		conn := open(t, path)
		_, _ = conn.Write([]byte(`{"v":1,"id":1,"op":"stats"}` + "\n"))
		read(t, bufio.NewReader(conn)) // it was let in
		conns = append(conns, conn)
	}
	_, err := ctl.NewClient(path).Status(t.Context())
	if ctl.CodeOf(err) != ctl.CodeBusy {
		t.Fatalf("got %v (%v), want code busy", err, ctl.CodeOf(err))
	}
	_ = conns[0].Close()
	waitFor(t, "a free place", func() bool {
		_, err := ctl.NewClient(path).Status(t.Context())
		return err == nil
	})
}

func TestNoDaemon(t *testing.T) {
	dir := t.TempDir()
	_, err := ctl.NewClient(filepath.Join(dir, "none")).Status(t.Context())
	if ctl.CodeOf(err) != ctl.CodeNoDaemon || !strings.Contains(err.Error(), "tbnetctl up") {
		t.Errorf("no socket: got %v", err)
	}
	stale := filepath.Join(dir, "stale")
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: stale, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	ln.SetUnlinkOnClose(false)
	_ = ln.Close()
	if _, err := ctl.NewClient(stale).Status(t.Context()); ctl.CodeOf(err) != ctl.CodeNoDaemon {
		t.Errorf("stale socket: got %v", err)
	}
	again, err := ctl.ListenSocket(stale)
	if err != nil {
		t.Fatalf("take over a stale socket: %v", err)
	}
	if _, err := ctl.ListenSocket(stale); ctl.CodeOf(err) != ctl.CodeBusy {
		t.Errorf("take over a live socket: got %v", err)
	}
	_ = again.Close()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ctl.ListenSocket(file); ctl.CodeOf(err) != ctl.CodeInvalid {
		t.Errorf("a file in the way: got %v", err)
	}
	if data, _ := os.ReadFile(file); string(data) != "precious" {
		t.Error("the file in the way was touched")
	}
}

// TestBadDaemons answers a client with what no daemon of this version says.
func TestBadDaemons(t *testing.T) {
	cases := []struct {
		name, answer string
		code         ctl.Code
		says         string
	}{
		{"newer", `{"v":5,"id":1,"ok":{}}`, ctl.CodeVersion, "the daemon speaks control protocol 5"},
		{"other id", `{"v":1,"id":77,"ok":{}}`, ctl.CodeMalformed, "request 77"},
		{"nothing in it", `{"v":1,"id":1}`, ctl.CodeMalformed, "empty"},
		{"not json", `<html>`, ctl.CodeMalformed, "makes no sense"},
		{"wrong type", `{"v":1,"id":1,"ok":[]}`, ctl.CodeMalformed, "makes no sense"},
		{"refusal", `{"v":9,"id":0,"error":{"code":"busy","message":"full"}}`, ctl.CodeBusy, "full"},
		{"hangs up", ``, ctl.CodeNoDaemon, "stopped while it answered status"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s")
			ln, err := net.Listen("unix", path)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = ln.Close() }()
			done := make(chan struct{})
			go func() {
				defer close(done)
				conn, err := ln.Accept()
				if err != nil {
					return
				}
				_, _ = bufio.NewReader(conn).ReadBytes('\n')
				if c.answer != "" {
					_, _ = conn.Write([]byte(c.answer + "\n"))
				}
				_ = conn.Close()
			}()
			_, err = ctl.NewClient(path).Status(t.Context())
			<-done
			if err == nil || ctl.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("got %v (%v), want %v with %q", err, ctl.CodeOf(err), c.code, c.says)
			}
		})
	}
}

// TestStrangerMayReadOnly runs a client as another user.
func TestStrangerMayReadOnly(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to become another user")
	}
	_, path := serve(t, own(), ctl.Limits{})
	for dir := filepath.Dir(path); dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	exe, err := os.Open("/proc/self/exe") // its folder may be closed to others
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = exe.Close() }()
	cmd := exec.Command("/proc/self/fd/3")
	cmd.ExtraFiles = []*os.File{exe}
	cmd.Env = []string{"CTL_TEST_SOCKET=" + path}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// asStranger is the other process of TestStrangerMayReadOnly.
func asStranger(path string) int {
	ctx, c := context.Background(), ctl.NewClient(path)
	if _, err := c.Status(ctx); err != nil {
		println("may not read:", err.Error())
		return 1
	}
	for name, err := range map[string]error{
		"rail": c.SetRailUp(ctx, "tbr0", false),
		"bond": c.SetBond(ctx, ctl.BondChange{Name: "tbbond0", MTU: 1500}),
	} {
		if ctl.CodeOf(err) != ctl.CodeDenied {
			println(name, "was not denied")
			return 1
		}
	}
	return 0
}

func TestCloseEndsCalls(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	ln, err := ctl.ListenSocket(path)
	if err != nil {
		t.Fatal(err)
	}
	fake := ctlfake.New(ctlfake.Sample())
	s := ctl.NewServer(fake, own(), ctl.Limits{}, nil)
	served, ended := make(chan error, 1), make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	go func() { ended <- ctl.NewClient(path).Events(t.Context(), true, func(ctl.Event) error { return nil }) }()
	waitFor(t, "a listener", func() bool { return fake.Listeners() == 1 })
	_ = s.Close()
	_ = s.Close()
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
	if err := <-ended; err == nil {
		t.Error("Events of a client ended without an error though the daemon stopped")
	}
}
