// SPDX-License-Identifier: Apache-2.0

//go:build vm

package tests

// vm-modules: veth

import (
	"bytes"
	"crypto/rand"
	"io"
	"net"
	"os/exec"
	"testing"
)

// TestSockets shows that Go tests run in the guest: a TCP echo over the loopback
// device, and that we are root there and may load what the header names.
func TestSockets(t *testing.T) {
	if out, err := exec.Command("ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1").CombinedOutput(); err != nil {
		t.Fatalf("ip link add: %v: %s", err, out)
	}
	if _, err := net.InterfaceByName("v1"); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		io.Copy(c, c)
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	sent := make([]byte, 1<<20)
	rand.Read(sent)
	go func() {
		c.Write(sent)
		c.(*net.TCPConn).CloseWrite()
	}()
	got, err := io.ReadAll(c)
	if err != nil || !bytes.Equal(got, sent) {
		t.Fatalf("got %d bytes, %v; want the %d sent", len(got), err, len(sent))
	}
}
