// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/things-go/go-socks5"
	"github.com/things-go/go-socks5/statute"
)

// handshakeTime bounds a client's greeting and request, so that silent ones
// do not use up the connections.
const handshakeTime = 10 * time.Second

// unixPrefix marks the path of a unix socket in a listen address.
const unixPrefix = "unix:"

// SOCKS is a SOCKS5 server at work.
type SOCKS struct {
	s      *service
	out    Dialer
	addr   net.Addr
	server *socks5.Server
}

// OpenSOCKS begins to serve SOCKS5 on address, ADDRESS:PORT (loopback without
// an ADDRESS) or unix:PATH, towards out. users maps names to passwords; without
// any, everybody is let in, and address must be on loopback.
func OpenSOCKS(address string, out Dialer, users map[string]string, o Options) (*SOCKS, error) {
	l, err := listenLocal(address, len(users) > 0)
	if err != nil {
		return nil, fmt.Errorf("socks5: %w", err)
	}
	p := &SOCKS{s: newService(o), out: out, addr: l.Addr()}
	options := []socks5.Option{
		socks5.WithResolver(noResolver{}),
		socks5.WithConnectHandle(p.connect),
		socks5.WithAssociateHandle(p.associate),
		socks5.WithBindHandle(refuseBind),
	}
	if len(users) > 0 {
		options = append(options, socks5.WithCredential(credentials(users)))
	}
	p.server = socks5.NewServer(options...)
	p.s.track(l)
	p.s.start(func() { p.s.accept(l, p.serve) })
	return p, nil
}

// Addr is what is listened on.
func (p *SOCKS) Addr() net.Addr { return p.addr }

// Stats may be called from any goroutine.
func (p *SOCKS) Stats() Stats { return p.s.count.read() }

// Close breaks off what is open and waits for all goroutines. It is idempotent.
func (p *SOCKS) Close() error {
	p.s.close()
	return nil
}

func listenLocal(address string, guarded bool) (net.Listener, error) {
	if path, ok := strings.CutPrefix(address, unixPrefix); ok {
		return listenUnix(path)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("listen address %q is neither ADDRESS:PORT nor unix:PATH", address)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	addr, err := netip.ParseAddr(host)
	if host != "localhost" && (err != nil || !addr.IsLoopback()) && !guarded {
		return nil, fmt.Errorf("listening on %s would let anybody in: use a loopback address, or set a user and password", host)
	}
	return net.Listen("tcp", net.JoinHostPort(host, port))
}

// listenUnix replaces a socket that nobody listens on any more.
func listenUnix(path string) (net.Listener, error) {
	l, err := net.Listen("unix", path)
	if !errors.Is(err, syscall.EADDRINUSE) {
		return l, err
	}
	c, dialErr := net.Dial("unix", path)
	if dialErr == nil {
		c.Close()
		return nil, err
	}
	if !errors.Is(dialErr, syscall.ECONNREFUSED) {
		return nil, err
	}
	if err := os.Remove(path); err != nil {
		return nil, err
	}
	return net.Listen("unix", path)
}

// serve is one client's connection.
func (p *SOCKS) serve(c net.Conn) {
	if err := c.SetDeadline(time.Now().Add(handshakeTime)); err != nil {
		return
	}
	var refused *refusedError
	err := p.server.ServeConn(c)
	if errors.As(err, &refused) {
		p.s.o.Log.Warn("socks5 request failed", "from", c.RemoteAddr(), "err", refused.err)
	} else if err != nil {
		p.s.count.refused.Add(1)
		p.s.o.Log.Warn("socks5 client made no request", "from", c.RemoteAddr(), "err", err)
	}
}

// refusedError is a request that was answered with a failure and counted.
type refusedError struct{ err error }

func (e *refusedError) Error() string { return e.err.Error() }

// connect is the CONNECT command. The library's own would not wait for the
// second direction.
func (p *SOCKS) connect(_ context.Context, w io.Writer, req *socks5.Request) error {
	client, target, err := p.dialFor(w, req)
	if err != nil {
		return err
	}
	defer p.s.release(target)
	if err := socks5.SendReply(w, statute.RepSuccess, boundAddr(target)); err != nil {
		return &refusedError{err}
	}
	if err := client.SetDeadline(time.Time{}); err != nil {
		return &refusedError{err}
	}
	p.s.relay(client, target, req.Reader)
	return nil
}

// refuseBind answers the BIND command, which nobody uses.
func refuseBind(_ context.Context, w io.Writer, _ *socks5.Request) error {
	return errors.Join(errors.New("BIND is not supported"), socks5.SendReply(w, statute.RepCommandNotSupported, nil))
}

func (p *SOCKS) dialFor(w io.Writer, req *socks5.Request) (client, target net.Conn, err error) {
	client, ok := w.(net.Conn)
	if !ok {
		return nil, nil, errors.New("socks5: the library gave no connection")
	}
	// The dial has a timeout of its own, and the answer must not be late for it.
	if err := client.SetDeadline(time.Time{}); err != nil {
		return nil, nil, &refusedError{err}
	}
	target, err = p.s.dial(p.out, "tcp", destination(req.RawDestAddr))
	if err != nil {
		return nil, nil, &refusedError{errors.Join(err, socks5.SendReply(w, replyCode(err), nil))}
	}
	return client, target, nil
}

// destination is HOST:PORT; a name that is an address with a zone works.
func destination(a *statute.AddrSpec) string {
	host := a.FQDN
	if host == "" {
		host = a.IP.String()
	}
	return net.JoinHostPort(host, strconv.Itoa(a.Port))
}

// boundAddr is what the reply tells; the library takes IP addresses only.
func boundAddr(c net.Conn) net.Addr {
	if a, ok := c.LocalAddr().(*net.TCPAddr); ok {
		return a
	}
	return &net.TCPAddr{IP: net.IPv4zero}
}

// replyCode maps an error of either side; gVisor's have their own texts.
func replyCode(err error) uint8 {
	text := err.Error()
	switch {
	case errors.As(err, new(*UnknownNameError)):
		return statute.RepHostUnreachable
	case errors.Is(err, syscall.ECONNREFUSED), strings.Contains(text, "refused"):
		return statute.RepConnectionRefused
	case errors.Is(err, syscall.ENETUNREACH), strings.Contains(text, "network is unreachable"), strings.Contains(text, "no route"):
		return statute.RepNetworkUnreachable
	}
	return statute.RepHostUnreachable
}

// noResolver leaves names to the service.
type noResolver struct{}

// Resolve implements socks5.NameResolver.
func (noResolver) Resolve(ctx context.Context, _ string) (context.Context, net.IP, error) {
	return ctx, nil, nil
}

type credentials map[string]string

// Valid implements socks5.CredentialStore.
func (c credentials) Valid(user, password, _ string) bool {
	want, known := c[user]
	return subtle.ConstantTimeCompare([]byte(password), []byte(want)) == 1 && known
}
