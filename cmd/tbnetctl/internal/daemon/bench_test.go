// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tbnet2/tbnet2/ctl"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(strangerRole); role != "" {
		os.Exit(asStranger(role))
	}
	goleak.VerifyTestMain(m)
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// benchService serves on loopback and gives the way to it.
func benchService(t *testing.T) dialer {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := serveBench(ln, quiet())
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		_ = s.Close()
	})
	return func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", ln.Addr().String())
	}
}

func TestBenchBothWays(t *testing.T) {
	dial := benchService(t)
	told := map[string]int{}
	runs, err := runBench(t.Context(), dial, ctl.BenchRequest{Seconds: 1, Flows: []int{1, 3}}, func(p ctl.BenchProgress) {
		told[p.Direction]++
	})
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, r := range runs {
		order = append(order, r.Direction)
		if r.Bytes < 1<<20 || r.Seconds < 0.9 || r.Seconds > 10 || r.BPS != uint64(float64(r.Bytes)*8/r.Seconds) {
			t.Errorf("run %+v", r)
		}
	}
	if got, want := strings.Join(order, " "), "send receive send receive"; got != want || runs[3].Flows != 3 {
		t.Errorf("got %s, want %s", got, want)
	}
	if told[ctl.Sending] < 2 || told[ctl.Receiving] < 2 {
		t.Errorf("progress: %v", told)
	}
}

func TestBenchErrors(t *testing.T) {
	nobody := func(context.Context) (net.Conn, error) { return nil, io.ErrUnexpectedEOF }
	cases := []struct {
		name string
		dial dialer
		r    ctl.BenchRequest
		code ctl.Code
	}{
		{"no service", nobody, ctl.BenchRequest{Seconds: 1, Flows: []int{1}}, ctl.CodeUnreachable},
		{"no time", nobody, ctl.BenchRequest{Seconds: 0, Flows: []int{1}}, ctl.CodeInvalid},
		{"too long", nobody, ctl.BenchRequest{Seconds: 61, Flows: []int{1}}, ctl.CodeInvalid},
		{"no flows", nobody, ctl.BenchRequest{Seconds: 1}, ctl.CodeInvalid},
		{"too many flows", nobody, ctl.BenchRequest{Seconds: 1, Flows: []int{65}}, ctl.CodeInvalid},
	}
	for _, c := range cases {
		if _, err := runBench(t.Context(), c.dial, c.r, nil); ctl.CodeOf(err) != c.code {
			t.Errorf("%s: got %v (%v), want %v", c.name, err, ctl.CodeOf(err), c.code)
		}
	}
}

func TestBenchEndsWithItsContext(t *testing.T) {
	dial := benchService(t)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := runBench(ctx, dial, ctl.BenchRequest{Seconds: 30, Flows: []int{2}}, func(ctl.BenchProgress) { cancel() })
	if ctl.CodeOf(err) != ctl.CodeUnreachable {
		t.Errorf("got %v (%v)", err, ctl.CodeOf(err))
	}
}

func TestBenchRefusesOtherTalk(t *testing.T) {
	dial := benchService(t)
	for name, hello := range map[string]string{
		"http": "GET / HTTP/1.1\r\n", "version": benchMagic + "\x09\x00\x01\x00\x00\x00\x00\x00",
		"direction": benchMagic + "\x01\x07\x01\x00\x00\x00\x00\x00", "time": benchMagic + "\x01\x01\xff\x00\x00\x00\x00\x00",
	} {
		conn, err := dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
		_, _ = conn.Write([]byte(hello))
		if n, err := conn.Read(make([]byte, 1)); err != io.EOF || n != 0 {
			t.Errorf("%s: got %d bytes, %v; want the end", name, n, err)
		}
		_ = conn.Close()
	}
}

func TestBenchServesSoManyAndNoMore(t *testing.T) {
	dial := benchService(t)
	var conns []net.Conn
	defer func() { closeAll(conns) }()
	for range benchConns {
		conn, err := dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
	}
	conn, err := dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(4 * time.Second)) // before benchOpen ends
	if _, err := conn.Read(make([]byte, 1)); err == nil || strings.Contains(err.Error(), "timeout") {
		t.Errorf("one more is served: %v", err)
	}
}
