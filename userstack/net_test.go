// SPDX-License-Identifier: Apache-2.0

package userstack_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/tbnet2/tbnet2/rail/model"
	"github.com/tbnet2/tbnet2/userstack"
)

// TestU47_BufferOptionsSetThroughput holds that a stream over a round trip of
// 10 ms goes as fast as the buffers that were asked for allow.
func TestU47_BufferOptionsSetThroughput(t *testing.T) {
	measure := func(buffer int, which func(*userstack.Config) *int) float64 {
		a, b, _ := pair(t, 2, 65535, model.Params{Delay: 5 * time.Millisecond}, func(c *userstack.Config) { *which(c) = buffer })
		x, y := connect(t, a, b, "tcp", "10.0.0.2:0")
		defer x.Close()
		defer y.Close()
		const bytes = 16 << 20
		start := time.Now()
		transfer(t, x, y, bytes)
		return bytes / time.Since(start).Seconds()
	}
	for name, which := range map[string]func(*userstack.Config) *int{
		"read":  func(c *userstack.Config) *int { return &c.ReadBuffer },
		"write": func(c *userstack.Config) *int { return &c.WriteBuffer },
	} {
		t.Run(name, func(t *testing.T) {
			small, large := measure(128<<10, which), measure(8<<20, which)
			t.Logf("simulated: %.1f MB/s with 128 KiB, %.1f MB/s with 8 MiB", small/1e6, large/1e6)
			// 128 KiB in 10 ms are 13 MB/s; a buffer that is there in name only
			// would make no difference.
			if small > 40e6 || large < 2*small {
				t.Errorf("%.1f MB/s with 128 KiB, %.1f MB/s with 8 MiB", small/1e6, large/1e6)
			}
		})
	}
}

func TestDatagrams(t *testing.T) {
	a, b, _ := pair(t, 2, 9000, model.Params{}, nil)
	for _, host := range []string{"10.0.0.2", userstack.LinkLocal6(hostID("b")).String()} {
		server, err := b.ListenPacket("udp", net.JoinHostPort(host, "0"))
		if err != nil {
			t.Fatal(err)
		}
		client, err := a.Dial("udp", server.LocalAddr().String())
		if err != nil {
			t.Fatal(err)
		}
		for _, size := range []int{0, 1, 1400, 30000} {
			sent := make([]byte, size)
			if _, err := client.Write(sent); err != nil {
				t.Fatal(err)
			}
			got := make([]byte, 1<<16)
			n, from, err := server.ReadFrom(got)
			if err != nil || n != size || from.String() != client.LocalAddr().String() {
				t.Errorf("%s: %d bytes from %v, %v; want %d from %v", host, n, from, err, size, client.LocalAddr())
			}
		}
		_, _ = client.Close(), server.Close()
	}
}

func TestDialErrors(t *testing.T) {
	a, _, _ := pair(t, 1, 9000, model.Params{}, nil)
	for _, c := range []struct{ network, address string }{
		{"tcp", "10.0.0.2"}, {"tcp", "10.0.0.2:99999"}, {"tcp", "name:80"}, {"tcp", ":80"},
		{"tcp4", "[fe80::1]:80"}, {"tcp6", "10.0.0.2:80"}, {"unix", "/x"}, {"tcp", "10.0.0.2:1"}, // nobody listens
	} {
		conn, err := a.Dial(c.network, c.address)
		var op *net.OpError
		if err == nil || !errors.As(err, &op) {
			t.Errorf("%s %s: got %v, want a net.OpError", c.network, c.address, err)
		}
		if err == nil {
			_ = conn.Close()
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := a.DialContext(ctx, "tcp", "10.0.0.77:80"); err == nil {
		t.Error("a host that is not there answers")
	}
}

func TestDeadlineAndHalfClose(t *testing.T) {
	a, b, _ := pair(t, 2, 9000, model.Params{}, nil)
	x, y := connect(t, a, b, "tcp", "10.0.0.2:0")
	defer x.Close()
	defer y.Close()
	_ = y.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	if _, err := y.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		var timeout net.Error
		if !errors.As(err, &timeout) || !timeout.Timeout() {
			t.Errorf("read after its deadline: %v", err)
		}
	}
	_ = y.SetReadDeadline(time.Time{})
	if _, err := x.Write([]byte("last")); err != nil {
		t.Fatal(err)
	}
	if err := x.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(y); string(got) != "last" || err != nil {
		t.Errorf("read %q, %v", got, err)
	}
	if _, err := y.Write([]byte("answer")); err != nil {
		t.Fatal(err)
	}
	_ = y.Close()
	if got, err := io.ReadAll(x); string(got) != "answer" || err != nil {
		t.Errorf("read %q, %v after half a close", got, err)
	}
}

func TestConfigRefusals(t *testing.T) {
	a := newHost(t, "a", "10.0.0.1/24", nil)
	for name, c := range map[string]userstack.Config{
		"no host":      {},
		"small MTU":    {Host: hostID("x"), MTU: 1000},
		"large MTU":    {Host: hostID("x"), MTU: 70000},
		"tiny buffer":  {Host: hostID("x"), ReadBuffer: 10},
		"giant buffer": {Host: hostID("x"), WriteBuffer: 1 << 40},
	} {
		if s, err := userstack.New(a.fabric.Port(), c); err == nil {
			t.Errorf("%s is taken", name)
			_ = s.Close()
		}
	}
}

func TestAutomaticNamesAreStable(t *testing.T) {
	one, two := hostID("one"), hostID("two")
	if userstack.MAC(one) != userstack.MAC(hostID("one")) || userstack.MAC(one) == userstack.MAC(two) || userstack.MAC(one)[0] != 2 {
		t.Errorf("MACs %v, %v", userstack.MAC(one), userstack.MAC(two))
	}
	for i := range 1000 {
		ip := userstack.LinkLocal4(hostID(fmt.Sprint(i))).As4()
		if ip[0] != 169 || ip[1] != 254 || ip[2] == 0 || ip[2] == 255 {
			t.Fatalf("%v is no address of RFC 3927", ip)
		}
		if !userstack.LinkLocal6(hostID(fmt.Sprint(i))).IsLinkLocalUnicast() {
			t.Fatal("no link-local address")
		}
	}
}
