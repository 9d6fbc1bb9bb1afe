// SPDX-License-Identifier: Apache-2.0

package outlets

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os/exec"
	"strings"
	"testing"
	"time"

	xproxy "golang.org/x/net/proxy"

	"github.com/tbnet2/tbnet2/fabric"
	"github.com/tbnet2/tbnet2/rail/mem"
	"github.com/tbnet2/tbnet2/rail/model"
	"github.com/tbnet2/tbnet2/userstack/proxy"
)

// joinInMemory makes two gVisor hosts with rails in memory: no privileges.
func joinInMemory(tb testing.TB) (a, b *host) {
	tb.Helper()
	hosts := [2]*host{}
	for i, name := range []string{"a", "b"} {
		f, err := fabric.New(fabric.Config{Host: id(name), HostName: name, Endpoint: 1, Retransmit: true})
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = f.Close() })
		hosts[i] = &host{tb: tb, ip: fmt.Sprintf("10.78.0.%d", i+1), fab: f}
	}
	for i := range 2 {
		l, err := mem.New(mem.Config{Name: fmt.Sprintf("rail%d", i), MTU: 9000, Seed: uint64(i + 1), Params: model.Params{Delay: 20 * time.Microsecond}, Group: uint64(i)})
		if err == nil {
			err = errors.Join(hosts[0].fab.AddRail(l.A(), fabric.RailOptions{}), hosts[1].fab.AddRail(l.B(), fabric.RailOptions{}))
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	for _, h := range hosts {
		wait(tb, "rails up", func() bool { return h.railsUp() == 2 })
	}
	return hosts[0].openStack(), hosts[1].openStack()
}

// web is an HTTP server on the kernel's loopback.
func web(t *testing.T, body string) (port string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(l)
	}()
	t.Cleanup(func() {
		_ = s.Close()
		<-done
	})
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return port
}

func forward(t *testing.T, h *host, spec string, reverse bool, o proxy.Options) *proxy.Forwarder {
	t.Helper()
	f, err := proxy.ParseForward(spec, reverse)
	if err != nil {
		t.Fatal(err)
	}
	w, err := f.Open(h.sock.(proxy.Network), proxy.Host{}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

// An unmodified program on host a reaches an unmodified server on host b: by
// SOCKS5 and by a forward into the fabric, and there by a forward out of it.
func TestProgramsReachEachOther(t *testing.T) {
	a, b := joinInMemory(t)
	body := strings.Repeat("tbnet2 ", 1<<20)
	forward(t, b, "80:localhost:"+web(t, body), true, proxy.Options{})
	o := proxy.Options{Names: proxy.StaticNames(map[string]netip.Addr{"b": netip.MustParseAddr(b.ip)})}
	socks, err := proxy.OpenSOCKS("127.0.0.1:0", a.sock, nil, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socks.Close() })

	t.Run("SOCKS5", func(t *testing.T) {
		d, err := xproxy.SOCKS5("tcp", socks.Addr().String(), nil, xproxy.Direct)
		if err != nil {
			t.Fatal(err)
		}
		get(t, &http.Transport{DialContext: d.(xproxy.ContextDialer).DialContext, DisableKeepAlives: true}, "http://b/", body)
	})
	t.Run("forward", func(t *testing.T) {
		w := forward(t, a, "0:b:80", false, o)
		get(t, &http.Transport{DisableKeepAlives: true}, "http://"+w.Addr().String()+"/", body)
	})
	t.Run("curl --socks5", func(t *testing.T) {
		curl, err := exec.LookPath("curl")
		if err != nil {
			t.Skip("needs curl")
		}
		out, err := exec.Command(curl, "-sS", "--max-time", "30", "--socks5-hostname", socks.Addr().String(), "http://b/").CombinedOutput()
		if err != nil || string(out) != body {
			t.Errorf("got %d bytes, %v, want %d", len(out), err, len(body))
		}
	})
}

func get(t *testing.T, tr *http.Transport, url, want string) {
	t.Helper()
	c := http.Client{Transport: tr, Timeout: 30 * time.Second}
	r, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	got, err := io.ReadAll(r.Body)
	if err != nil || string(got) != want {
		t.Errorf("got %d bytes, %v, want %d", len(got), err, len(want))
	}
}

// Datagrams from a program on a to one on b.
func TestDatagramsThroughForwards(t *testing.T) {
	a, b := joinInMemory(t)
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 1<<16)
		for {
			n, from, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			_, _ = pc.WriteTo(buf[:n], from)
		}
	}()
	t.Cleanup(func() {
		pc.Close()
		<-done
	})
	_, port, _ := net.SplitHostPort(pc.LocalAddr().String())
	forward(t, b, "53:127.0.0.1:"+port+"/udp", true, proxy.Options{})
	w := forward(t, a, "0:"+b.ip+":53/udp", false, proxy.Options{})
	c, err := net.Dial("udp", w.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{1, 1400, 20000} {
		sent := strings.Repeat("x", size)
		buf := make([]byte, 1<<16)
		if _, err := io.WriteString(c, sent); err != nil {
			t.Fatal(err)
		}
		if n, err := c.Read(buf); err != nil || string(buf[:n]) != sent {
			t.Fatalf("%d bytes: got %d, %v", size, n, err)
		}
	}
}
