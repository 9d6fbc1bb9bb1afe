// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tbnet2/tbnet2/cmd/tbnetctl/internal/config"
	"github.com/tbnet2/tbnet2/ctl"
)

// options are those of a daemon that needs no privilege: without rails, TCP/IP
// in the daemon.
func options(t *testing.T) Options {
	t.Helper()
	c := config.Default()
	c.Bond.Outlet = config.OutletUserstack
	c.Host = config.Host{UUID: uuid.MustParse("0f0e0d0c-0b0a-4908-8706-050403020100"), Name: "node1"}
	return Options{Config: c, Load: func() (config.Config, error) { return c, nil }, Socket: filepath.Join(t.TempDir(), "s"), Log: quiet(), Level: &slog.LevelVar{}}
}

// told reads what the daemon tells systemd.
func told(t *testing.T, conn *net.UnixConn) string {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	buf := make([]byte, 256)
	n, err := conn.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	return string(buf[:n])
}

// TestRunTellsSystemd runs a whole daemon under a systemd of the test's: ready
// once it answers, alive while it runs, stopping when asked to; afterwards
// neither goroutine (TestMain) nor socket is left.
func TestRunTellsSystemd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	t.Setenv("NOTIFY_SOCKET", path)
	t.Setenv("WATCHDOG_USEC", "40000")
	t.Setenv("WATCHDOG_PID", "")
	if err := os.Unsetenv("WATCHDOG_PID"); err != nil { // t.Setenv puts it back
		t.Fatal(err)
	}
	o := options(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, o) }()
	if got := told(t, conn); got != "READY=1" {
		t.Errorf("got %q first", got)
	}
	c := ctl.NewClient(o.Socket)
	s, err := c.Status(t.Context())
	if err != nil || s.Host.Name != "node1" || s.Host.Backend != "daemon" || s.Bonds[0].Kind != config.OutletUserstack || s.Bonds[0].Carrier {
		t.Errorf("got %+v, %v", s, err)
	}
	second := o
	if err := Run(t.Context(), second); ctl.CodeOf(err) != ctl.CodeBusy {
		t.Errorf("a second daemon on the socket: got %v", err)
	}
	if got := told(t, conn); got != "WATCHDOG=1" {
		t.Errorf("got %q while it runs", got)
	}
	cancel()
	for got := ""; got != "STOPPING=1"; {
		if got = told(t, conn); got != "WATCHDOG=1" && got != "STOPPING=1" {
			t.Fatalf("got %q at the end", got)
		}
	}
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
	if _, err := os.Lstat(o.Socket); err == nil {
		t.Error("the socket is left")
	}
}

// TestReloadIsWhole changes several things at once, of which one cannot be:
// none is changed.
func TestReloadIsWhole(t *testing.T) {
	o := options(t)
	next := o.Config.Clone()
	o.Load = func() (config.Config, error) { return next, nil }
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, o) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	}()
	c := ctl.NewClient(o.Socket)
	awaitDaemon(t, o.Socket)
	port := freePort(t)
	next.SOCKS = "127.0.0.1:" + port
	next.Log.Level = "debug"
	next.Bond.MTU = 9000 // fixed with a userstack
	next.Rails = []config.Rail{{Name: "r", Device: "nosuchdevice"}}
	err := c.Reload(ctx)
	if ctl.CodeOf(err) != ctl.CodeUnsupported {
		t.Fatalf("got %v", err)
	}
	if conn, err := net.Dial("tcp", next.SOCKS); err == nil {
		_ = conn.Close()
		t.Error("the SOCKS server of the refused configuration is there")
	}
	if s, err := c.Status(ctx); err != nil || len(s.Rails) != 0 || o.Level.Level() != slog.LevelInfo {
		t.Errorf("half-applied: %+v, %v, level %v", s.Rails, err, o.Level.Level())
	}
	next.Bond.MTU = 0
	if err := c.Reload(ctx); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", next.SOCKS)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	s, err := c.Status(ctx)
	if err != nil || len(s.Rails) != 1 || s.Rails[0].Reason != "no such device" || o.Level.Level() != slog.LevelDebug {
		t.Errorf("got %+v, %v, level %v", s.Rails, err, o.Level.Level())
	}
	if len(s.Warnings) == 0 || !strings.Contains(s.Warnings[0].Message, "rail r is down: no such device") {
		t.Errorf("warnings: %+v", s.Warnings)
	}
}
