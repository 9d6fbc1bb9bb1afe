// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"fmt"
	"net"
)

// Forward says what is listened on and where it goes.
type Forward struct {
	// Network is "tcp" or "udp".
	Network string
	// Reverse listens in the fabric and dials from the host; else the other
	// way round.
	Reverse bool
	// Listen is ADDRESS:PORT; without an address, loopback on the host and
	// all addresses in the fabric; "*" is all addresses. Port 0 takes a free one.
	Listen string
	// Target is HOST:PORT.
	Target string
}

// Forwarder is a forward at work.
type Forwarder struct {
	f    Forward
	s    *service
	addr net.Addr
}

// Open begins to forward between the two sides. Options.Names is used for targets
// in the fabric; the host resolves its own.
func (f Forward) Open(fabric, host Network, o Options) (*Forwarder, error) {
	in, out := host, fabric
	if f.Reverse {
		in, out, o.Names = fabric, host, nil
	}
	listen, err := f.listenAddress()
	if err != nil {
		return nil, err
	}
	fw := &Forwarder{f: f, s: newService(o)}
	switch f.Network {
	case "tcp":
		err = fw.openTCP(in, out, listen)
	case "udp":
		err = fw.openUDP(in, out, listen)
	default:
		err = fmt.Errorf("network %q is neither tcp nor udp", f.Network)
	}
	if err != nil {
		fw.s.close()
		return nil, fmt.Errorf("forward %s: %w", f, err)
	}
	return fw, nil
}

func (f Forward) listenAddress() (string, error) {
	host, port, err := net.SplitHostPort(f.Listen)
	if err != nil {
		return "", fmt.Errorf("forward %s: listen address %q is no ADDRESS:PORT", f, f.Listen)
	}
	switch {
	case host == "*":
		host = ""
	case host == "" && !f.Reverse:
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}

func (w *Forwarder) openTCP(in Network, out Dialer, listen string) error {
	l, err := in.Listen("tcp", listen)
	if err != nil {
		return err
	}
	w.addr = l.Addr()
	w.s.track(l)
	w.s.start(func() { w.s.accept(l, func(c net.Conn) { w.connect(c, out) }) })
	return nil
}

func (w *Forwarder) connect(c net.Conn, out Dialer) {
	target, err := w.s.dial(out, "tcp", w.f.Target)
	if err != nil {
		w.s.o.Log.Warn("forward cannot reach its target", "forward", w.f.String(), "err", err)
		abort(c) // as a refused connection would look
		return
	}
	defer w.s.release(target)
	w.s.relay(c, target, c)
}

func (w *Forwarder) openUDP(in Network, out Dialer, listen string) error {
	pc, err := in.ListenPacket("udp", listen)
	if err != nil {
		return err
	}
	w.addr = pc.LocalAddr()
	w.s.track(pc)
	d := newDatagrams(w.s, pc, out)
	w.s.start(func() {
		defer w.s.release(pc)
		defer d.close()
		d.serve(func(b []byte, from net.Addr) (datagram, bool) {
			return datagram{key: from.String(), client: from, target: w.f.Target, data: b}, true
		})
	})
	return nil
}

// Addr is what is listened on.
func (w *Forwarder) Addr() net.Addr { return w.addr }

// Stats may be called from any goroutine.
func (w *Forwarder) Stats() Stats { return w.s.count.read() }

// Close breaks off what is open and waits for all goroutines. It is idempotent.
func (w *Forwarder) Close() error {
	w.s.close()
	return nil
}
