// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	"github.com/things-go/go-socks5"
	"github.com/things-go/go-socks5/statute"
)

// associate is the UDP ASSOCIATE command: a UDP socket for the client, as long
// as its TCP connection stays. The library's own has no bounds.
func (p *SOCKS) associate(_ context.Context, w io.Writer, req *socks5.Request) error {
	client, ok := w.(net.Conn)
	if !ok {
		return errors.New("socks5: the library gave no connection")
	}
	in, err := net.ListenUDP("udp", &net.UDPAddr{IP: localIP(client.LocalAddr())})
	if err != nil {
		return &refusedError{errors.Join(err, socks5.SendReply(w, statute.RepServerFailure, nil))}
	}
	if !p.s.track(in) {
		return nil
	}
	if err := errors.Join(client.SetDeadline(time.Time{}), socks5.SendReply(w, statute.RepSuccess, in.LocalAddr())); err != nil {
		p.s.release(in)
		return &refusedError{err}
	}
	d := newDatagrams(p.s, in, p.out)
	done := make(chan struct{})
	if !p.s.start(func() { defer close(done); d.serve(newOrigin(client).judge) }) {
		close(done)
	}
	_, _ = io.Copy(io.Discard, req.Reader) // until the client goes, or the service closes it
	p.s.release(in)
	<-done
	d.close()
	return nil
}

// localIP is where the client reaches us: the address its connection came to.
func localIP(a net.Addr) net.IP {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.IP
	}
	return net.IPv4(127, 0, 0, 1)
}

// origin lets only the client in: its address, and the first port it sends from.
type origin struct {
	ip   net.IP // nil for a client on a unix socket: any on this machine
	port int    // 0 until the first datagram
}

func newOrigin(client net.Conn) *origin {
	if a, ok := client.RemoteAddr().(*net.TCPAddr); ok {
		return &origin{ip: a.IP}
	}
	return &origin{}
}

// judge reads a datagram of RFC 1928, section 7. Fragments are dropped, as it
// allows.
func (o *origin) judge(b []byte, from net.Addr) (datagram, bool) {
	a, ok := from.(*net.UDPAddr)
	if !ok || o.ip != nil && !o.ip.Equal(a.IP) || o.port != 0 && o.port != a.Port {
		return datagram{}, false
	}
	g, err := statute.ParseDatagram(b)
	if err != nil || g.Frag != 0 {
		return datagram{}, false
	}
	o.port = a.Port
	target := destination(&g.DstAddr)
	return datagram{key: target, client: from, target: target, header: g.Header(), data: g.Data}, true
}
