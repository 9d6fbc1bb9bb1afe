// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	xproxy "golang.org/x/net/proxy"
)

// through dials with an independent SOCKS5 client. It gives the raw
// connection, which can be half closed.
func through(t testing.TB, p *SOCKS, auth *xproxy.Auth) xproxy.Dialer {
	t.Helper()
	d, err := xproxy.SOCKS5(p.Addr().Network(), p.Addr().String(), auth, xproxy.Direct)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestSOCKSConnect(t *testing.T) {
	four, six := serveTCP(t, "127.0.0.1:0", echo), serveTCP(t, "[::1]:0", echo)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := l.Addr().String()
	l.Close()
	p := openSOCKS(t, Host{}, nil, Options{Names: names()})
	for _, tc := range []struct{ name, target, err string }{
		{"IPv4", four, ""},
		{"IPv6", six, ""},
		{"peer's name", "node2:" + port(t, four), ""},
		{"name in capitals with a dot", "NODE2.:" + port(t, four), ""},
		{"unknown name", "node3:" + port(t, four), "host unreachable"},
		{"nobody listens", dead, "connection refused"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, err := through(t, p, nil).Dial("tcp", tc.target)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("got %v, want %q", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			deadline(t, c)
			if err := ask(c, "over and back"); err != nil {
				t.Error(err)
			}
		})
	}
	wait(t, "52 bytes counted each way", func() bool { s := p.Stats(); return s.BytesOut == 4*13 && s.BytesIn == 4*13 })
	if s := p.Stats(); s.Accepted != 6 || s.DialErrors != 2 || s.Refused != 0 {
		t.Errorf("got %+v, want 6 accepted, 2 dial errors, none refused", s)
	}
}

func TestSOCKSUsers(t *testing.T) {
	target := serveTCP(t, "127.0.0.1:0", echo)
	p := openSOCKS(t, Host{}, map[string]string{"ann": "secret"}, Options{})
	for _, tc := range []struct {
		name string
		auth *xproxy.Auth
		ok   bool
	}{
		{"right", &xproxy.Auth{User: "ann", Password: "secret"}, true},
		{"wrong password", &xproxy.Auth{User: "ann", Password: "secre"}, false},
		{"wrong user", &xproxy.Auth{User: "bob", Password: "secret"}, false},
		{"unknown user without password", &xproxy.Auth{User: "bob", Password: ""}, false},
		{"none", nil, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, err := through(t, p, tc.auth).Dial("tcp", target)
			if (err == nil) != tc.ok {
				t.Fatalf("got %v, want success %v", err, tc.ok)
			}
			if err == nil {
				c.Close()
			}
		})
	}
	wait(t, "4 refused", func() bool { return p.Stats().Refused == 4 })
}

// Two proxies one behind the other; the client ends its direction and then
// gets the hash of all it sent.
func TestHalfCloseThroughTwoProxies(t *testing.T) {
	target := serveTCP(t, "127.0.0.1:0", func(c *net.TCPConn) {
		h := sha256.New()
		if _, err := io.Copy(h, c); err == nil {
			_, _ = c.Write(h.Sum(nil))
		}
	})
	far := openSOCKS(t, Host{}, nil, Options{Names: names()})
	farDialer := through(t, far, nil)
	near := openSOCKS(t, dialFunc(func(_ context.Context, network, address string) (net.Conn, error) {
		return farDialer.Dial(network, address)
	}), nil, Options{})
	c, err := through(t, near, nil).Dial("tcp", "node2:"+port(t, target))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	deadline(t, c)
	const size = 16<<20 + 7
	h := sha256.New()
	if _, err := io.Copy(io.MultiWriter(c, h), io.LimitReader(rand.NewChaCha8([32]byte{1}), size)); err != nil {
		t.Fatal(err)
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(c)
	if err != nil || !bytes.Equal(got, h.Sum(nil)) {
		t.Errorf("got %x, %v, want %x", got, err, h.Sum(nil))
	}
	for name, p := range map[string]*SOCKS{"near": near, "far": far} {
		wait(t, name+" has nothing open", func() bool { return p.Stats().Active == 0 })
		if s := p.Stats(); s.BytesOut != size || s.BytesIn != 32 || s.Broken != 0 {
			t.Errorf("%s: got %+v, want %d out, 32 in, none broken", name, s, size)
		}
	}
}

func TestSOCKSOnUnixSocket(t *testing.T) {
	target := serveTCP(t, "127.0.0.1:0", echo)
	path := filepath.Join(t.TempDir(), "socks")
	p, err := OpenSOCKS("unix:"+path, Host{}, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if again, err := OpenSOCKS("unix:"+path, Host{}, nil, Options{}); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a second server: got %v, want %v", err, syscall.EADDRINUSE)
		if err == nil {
			again.Close()
		}
	}
	c, err := through(t, p, nil).Dial("tcp", target)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	deadline(t, c)
	if err := ask(c, "by path"); err != nil {
		t.Error(err)
	}
}

// A server that was killed leaves its socket behind.
func TestStaleUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socks")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	p, err := OpenSOCKS("unix:"+path, Host{}, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
}

func TestSOCKSListenAddress(t *testing.T) {
	for _, tc := range []struct {
		address string
		users   map[string]string
		err     string
	}{
		{"127.0.0.1:0", nil, ""},
		{"localhost:0", nil, ""},
		{":0", nil, ""},
		{"[::1]:0", nil, ""},
		{"0.0.0.0:0", nil, "would let anybody in"},
		{"192.0.2.1:0", nil, "would let anybody in"},
		{"0.0.0.0:0", map[string]string{"a": "b"}, ""},
		{"1080", nil, "neither ADDRESS:PORT nor unix:PATH"},
	} {
		p, err := OpenSOCKS(tc.address, Host{}, tc.users, Options{})
		switch {
		case err == nil && tc.address == ":0" && !p.Addr().(*net.TCPAddr).IP.IsLoopback():
			t.Errorf("%s: got %s, want loopback", tc.address, p.Addr())
		case (err == nil) != (tc.err == ""), err != nil && !strings.Contains(err.Error(), tc.err):
			t.Errorf("%s: got %v, want %q", tc.address, err, tc.err)
		}
		if err == nil {
			p.Close()
		}
	}
}

// request makes a SOCKS5 request by hand and gives the answer's code and address.
func request(t *testing.T, c net.Conn, command byte) (code byte, bound *net.UDPAddr) {
	t.Helper()
	if _, err := c.Write([]byte{5, 1, 0, 5, command, 0, 1, 0, 0, 0, 0, 0, 0}); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 12) // method, then the reply with an IPv4 address
	if _, err := io.ReadFull(c, b); err != nil {
		t.Fatal(err)
	}
	return b[3], &net.UDPAddr{IP: net.IP(b[6:10]), Port: int(binary.BigEndian.Uint16(b[10:]))}
}

func TestSOCKSDatagrams(t *testing.T) {
	target := serveUDP(t)
	p := openSOCKS(t, Host{}, nil, Options{Names: names()})
	control := dial(t, "tcp", p.Addr().String())
	code, bound := request(t, control, 3)
	if code != 0 {
		t.Fatalf("reply: got %d, want 0", code)
	}
	c := dial(t, "udp", bound.String())
	to, err := net.ResolveUDPAddr("udp", target)
	if err != nil {
		t.Fatal(err)
	}
	byIP := binary.BigEndian.AppendUint16(append([]byte{0, 0, 0, 1}, to.IP.To4()...), uint16(to.Port))
	byName := binary.BigEndian.AppendUint16(append([]byte{0, 0, 0, 3, 5}, "node2"...), uint16(to.Port))
	for name, header := range map[string][]byte{"by address": byIP, "by name": byName} {
		if err := ask(c, string(header)+name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	stranger := dial(t, "udp", bound.String())
	fragment := append(bytes.Clone(byIP), "piece"...)
	fragment[2] = 1
	for _, send := range []struct {
		from net.Conn
		data []byte
	}{{stranger, byIP}, {c, fragment}, {c, []byte("short")}} {
		if _, err := send.from.Write(send.data); err != nil {
			t.Fatal(err)
		}
	}
	wait(t, "3 dropped", func() bool { return p.Stats().DatagramsDropped == 3 })
	wait(t, "2 datagrams each way", func() bool { s := p.Stats(); return s.DatagramsOut == 2 && s.DatagramsIn == 2 })
	if s := p.Stats(); s.Active != 3 {
		t.Errorf("got %+v, want 3 active (control and two targets)", s)
	}
	control.Close()
	wait(t, "all gone with the control connection", func() bool { return p.Stats().Active == 0 })
}

func TestSOCKSBindIsRefused(t *testing.T) {
	p := openSOCKS(t, Host{}, nil, Options{})
	if code, _ := request(t, dial(t, "tcp", p.Addr().String()), 2); code != 7 {
		t.Errorf("reply: got %d, want 7 (command not supported)", code)
	}
	wait(t, "counted", func() bool { return p.Stats().Refused == 1 })
}

// Whatever a client says, it is answered or closed, and nothing is left open.
func FuzzSOCKSRequest(f *testing.F) {
	f.Add([]byte{5, 1, 0, 5, 1, 0, 1, 127, 0, 0, 1, 0, 9})
	f.Add([]byte{5, 1, 0, 5, 3, 0, 3, 5, 'n', 'o', 'd', 'e', '2', 0, 9})
	f.Add([]byte{5, 2, 0, 2, 5, 1, 0, 4})
	f.Add([]byte{4, 1, 0, 80, 127, 0, 0, 1, 0})
	// A unix socket, as TCP would run out of ports.
	path := filepath.Join(f.TempDir(), "socks")
	p, err := OpenSOCKS("unix:"+path, dialFunc(func(context.Context, string, string) (net.Conn, error) {
		return nil, syscall.ECONNREFUSED
	}), nil, Options{Names: names()})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { p.Close() })
	f.Fuzz(func(t *testing.T, b []byte) {
		c := dial(t, "unix", path)
		if _, err := c.Write(b); err != nil {
			t.Fatal(err)
		}
		if err := c.(*net.UnixConn).CloseWrite(); err != nil && !errors.Is(err, syscall.ENOTCONN) {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, c); err != nil && !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the server neither answered nor closed: %v", err)
		}
	})
}
