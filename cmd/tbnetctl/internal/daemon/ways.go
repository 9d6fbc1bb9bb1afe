// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"errors"
	"io"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/tbnet2/tbnet2/ctl"
	"github.com/tbnet2/tbnet2/userstack"
	"github.com/tbnet2/tbnet2/userstack/proxy"
)

// ways are the ways into the bond for programs without a network device: the
// SOCKS5 server and the forwards.
type ways struct {
	network proxy.Network
	options proxy.Options

	mu   sync.Mutex // guards open
	open map[string]*way
}

// way is one of them at work.
type way struct {
	start  func() (io.Closer, error)
	closer io.Closer
}

func newWays(n proxy.Network, o proxy.Options) *ways {
	return &ways{network: n, options: o, open: map[string]*way{}}
}

// set makes just these the ways that are open. Those that were open and stay
// are not touched. On an error all is as before.
func (w *ways) set(socks string, forwards []proxy.Forward) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	want := w.wanted(socks, forwards)
	var removed, added []string
	for _, name := range slices.Sorted(maps.Keys(w.open)) {
		if want[name] == nil {
			removed = append(removed, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if w.open[name] == nil {
			added = append(added, name)
		}
	}
	// The old ones go first: a new one may want the same port.
	old := map[string]*way{}
	for _, name := range removed {
		old[name] = w.open[name]
		w.close(name)
	}
	for i, name := range added {
		if err := w.start(name, want[name]); err != nil {
			for _, opened := range added[:i] {
				w.close(opened)
			}
			for _, name := range removed {
				err = errors.Join(err, w.start(name, old[name]))
			}
			return ctl.Errorf(ctl.CodeInvalid, "%v", err)
		}
	}
	return nil
}

func (w *ways) wanted(socks string, forwards []proxy.Forward) map[string]*way {
	out := map[string]*way{}
	if socks != "" {
		out["socks5 "+socks] = &way{start: func() (io.Closer, error) {
			return closer(proxy.OpenSOCKS(socks, w.network, nil, w.options))
		}}
	}
	for _, f := range forwards {
		name := "local "
		if f.Reverse {
			name = "remote "
		}
		out[name+f.String()] = &way{start: func() (io.Closer, error) { return closer(f.Open(w.network, proxy.Host{}, w.options)) }}
	}
	return out
}

// closer keeps a nil pointer from becoming a Closer that is not nil.
func closer[T io.Closer](c T, err error) (io.Closer, error) {
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (w *ways) start(name string, it *way) error {
	c, err := it.start()
	if err != nil {
		return err
	}
	it.closer = c
	w.open[name] = it
	w.options.Log.Info("way into the bond opened", "way", name)
	return nil
}

func (w *ways) close(name string) {
	if err := w.open[name].closer.Close(); err != nil {
		w.options.Log.Warn("close", "way", name, "error", err)
	}
	delete(w.open, name)
}

// Close closes all and waits for their connections' end. It is idempotent.
func (w *ways) Close() error { return w.set("", nil) }

// peerAddress finds a connected peer's address by its name.
func (d *daemon) peerAddress(name string) (netip.Addr, bool) {
	s := d.fabric.Status()
	for i := range s.Peers {
		if strings.ToLower(s.Peers[i].Name) != name {
			continue
		}
		if id, err := uuid.Parse(s.Peers[i].Host); err == nil {
			return userstack.LinkLocal6(id), true
		}
	}
	return netip.Addr{}, false
}
