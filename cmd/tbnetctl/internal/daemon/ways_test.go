// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tbnet2/tbnet2/userstack/proxy"
)

// echo serves on loopback what it is sent, and gives its port.
func echo(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				_, _ = io.Copy(conn, conn)
				_ = conn.Close()
			})
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		wg.Wait()
	})
	return fmt.Sprint(ln.Addr().(*net.TCPAddr).Port)
}

func freePort(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	return fmt.Sprint(ln.Addr().(*net.TCPAddr).Port)
}

func forward(t *testing.T, spec string) proxy.Forward {
	t.Helper()
	f, err := proxy.ParseForward(spec, false)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// answers sends a word through a port and wants it back.
func answers(port string) error {
	conn, err := net.Dial("tcp", "127.0.0.1:"+port)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.Write([]byte("word")); err != nil {
		return err
	}
	got := make([]byte, 4)
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != "word" {
		return fmt.Errorf("got %q, %w", got, err)
	}
	return nil
}

func (w *ways) names() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for name := range w.open {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// TestWaysAreSetWhole changes forwards while they run. One that cannot be
// opened leaves all as they were, also those that had to make room for it.
func TestWaysAreSetWhole(t *testing.T) {
	target, a, b := echo(t), freePort(t), freePort(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	w := newWays(proxy.Host{}, proxy.Options{Log: quiet()})
	defer func() { _ = w.Close() }()
	toA, toB := forward(t, a+":127.0.0.1:"+target), forward(t, b+":127.0.0.1:"+target)
	nobody := forward(t, a+":127.0.0.1:1") // on A's port
	blocked := forward(t, fmt.Sprint(taken.Addr().(*net.TCPAddr).Port)+":127.0.0.1:"+target)
	if err := w.set("", []proxy.Forward{toA, toB}); err != nil {
		t.Fatal(err)
	}
	stays, err := net.Dial("tcp", "127.0.0.1:"+b)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stays.Close() }()
	before := w.names()
	err = w.set("", []proxy.Forward{toB, nobody, blocked})
	if err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a port that is taken: got %v", err)
	}
	if got := w.names(); !slices.Equal(got, before) {
		t.Errorf("half-applied: %v, before %v", got, before)
	}
	for _, port := range []string{a, b} {
		if err := answers(port); err != nil {
			t.Errorf("port %s afterwards: %v", port, err)
		}
	}
	if err := w.set("", []proxy.Forward{toB}); err != nil {
		t.Fatal(err)
	}
	if answers(a) == nil {
		t.Error("a forward that is not wanted any more still works")
	}
	if _, err := stays.Write([]byte("word")); err != nil {
		t.Error(err)
	}
	if _, err := io.ReadFull(stays, make([]byte, 4)); err != nil {
		t.Errorf("a connection of a forward that stayed was broken: %v", err)
	}
}
