// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/tbnet2/tbnet2/ctl"
)

// web serves a page in the host, by a process of this program, and ends with
// the test.
func (h *host) web(address string) {
	h.t.Helper()
	self, err := os.Executable()
	if err != nil {
		h.t.Fatal(err)
	}
	cmd := exec.Command("nsenter", "-t", fmt.Sprint(h.pid), "-n", "-m", self)
	cmd.Env = append(os.Environ(), "TBNETCTL_TEST_WEB="+address)
	in, err := cmd.StdinPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	if _, err := out.Read(make([]byte, 1)); err != nil {
		h.t.Fatalf("web server on %s: %v", address, err)
	}
}

// webPage is what web serves: large enough to cross as many packets.
func webPage() string { return strings.Repeat("over all rails ", 1<<16) }

// serveWeb is the process of web.
func serveWeb(address string) {
	ln, err := net.Listen("tcp", address)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, webPage()) })}
	go func() { _ = s.Serve(ln) }()
	fmt.Print("+")
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test ends
	_ = s.Close()
}

// curl fetches a page in the host.
func (h *host) curl(args ...string) {
	h.t.Helper()
	all := append([]string{"-t", fmt.Sprint(h.pid), "-n", "-m", "curl", "-sS", "--max-time", "20"}, args...)
	cmd := exec.Command("nsenter", all...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil || string(out) != webPage() {
		h.t.Errorf("curl %v: %v, %s, %d bytes", args, err, errs.String(), len(out))
	}
}

// TestUserstackAndTAP has one host whose TCP/IP is in the daemon and one with
// a network device: curl on the first reaches the second by SOCKS5 and by a
// forward, and the second reaches a server on the first by a remote forward.
func TestUserstackAndTAP(t *testing.T) {
	if !asRoot(t) {
		return
	}
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("needs curl")
	}
	a, b := newHosts(t, 2)
	for _, h := range []*host{a, b} {
		lo, _ := h.link("lo")
		if err := h.nl.LinkSetUp(lo); err != nil {
			t.Fatal(err)
		}
	}
	write(t, a.config(), "[bond]\noutlet = userstack\naddress = 10.77.3.1/24\n[socks5]\nlisten = 127.0.0.1:1080\n[forward]\nlocal = 8080:node2:80\nremote = 81:127.0.0.1:8081\n")
	a.must("up", "a0", "a1", "--host", "node1", "--wait", "0")
	b.must("up", "b0", "b1", "--host", "node2", "--address", "10.77.3.2/24")
	a.await("two rails are up", func(s *ctl.Status) bool { return upRails(s) == 2 })
	b.web("[::]:80")
	a.web("127.0.0.1:8081")
	a.curl("--socks5-hostname", "127.0.0.1:1080", "http://node2/")
	a.curl("--socks5", "127.0.0.1:1080", "http://10.77.3.2/")
	a.curl("http://127.0.0.1:8080/")
	b.curl("http://10.77.3.1:81/")
	if s := a.status(); s.Bonds[0].Kind != "userstack" || !s.Bonds[0].Carrier {
		t.Errorf("%+v", s.Bonds)
	}
	code, out, errs := a.run("bench", "node2", "--seconds", "1", "--flows", "1", "--json")
	var r benchOutput
	if err := json.Unmarshal([]byte(out), &r); err != nil || code > 1 || r.Outlet != "userstack" || len(r.Runs) != 2 || r.Runs[0].Bytes < 1<<20 || r.Runs[1].Bytes < 1<<20 {
		t.Errorf("bench: exit %d, %v, %+v: %s", code, err, r, errs)
	}
	// Another forward target, and one that cannot be: the old one stays.
	write(t, a.config(), strings.Replace(string(mustRead(t, a.config())), "8080:node2:80", "1080:node2:80", 1))
	if code, _, errs := a.run("daemon", "--reload"); code != 1 || !strings.Contains(errs, "in use") {
		t.Errorf("two on one port: exit %d, %s", code, errs)
	}
	a.curl("http://127.0.0.1:8080/")
}
