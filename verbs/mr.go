// SPDX-License-Identifier: Apache-2.0

package verbs

import "slices"

// MR is a registered memory region: bytes that work requests and, with their
// rights, peers may reach. The memory stays the caller's, who keeps it until
// Dereg.
type MR struct {
	pd         *PD
	mem        []byte
	addr       uint64
	access     Access
	lkey, rkey uint32
	only       *GID // the one peer that may use rkey, if set
	users      int  // packets and receives under way in it
	gone       bool
	released   chan struct{}
}

// RegMR registers mem under the addresses from addr on (its iova).
func (p *PD) RegMR(mem []byte, addr uint64, access Access) (*MR, error) {
	return p.reg(mem, addr, access, nil)
}

// RegMRFor is RegMR with a remote key that only one peer may use.
func (p *PD) RegMRFor(peer GID, mem []byte, addr uint64, access Access) (*MR, error) {
	return p.reg(mem, addr, access, &peer)
}

func (p *PD) reg(mem []byte, addr uint64, access Access, only *GID) (*MR, error) {
	d := p.device
	d.mu.Lock()
	defer d.mu.Unlock()
	n := uint64(len(mem))
	switch {
	case d.closed:
		return nil, ErrClosed
	case n == 0 || addr+n < addr || access&^accessKnown != 0:
		return nil, ErrInvalid
	case access&(RemoteWrite|RemoteAtomic) != 0 && access&LocalWrite == 0:
		return nil, ErrInvalid
	case d.mrs >= d.limits.MRs || n > d.limits.Bytes-d.bytes:
		return nil, ErrQuota
	}
	m := &MR{pd: p, mem: mem, addr: addr, access: access, only: only, released: make(chan struct{})}
	m.lkey = d.drawKey()
	d.keys[m.lkey] = m
	m.rkey = d.drawKey()
	d.keys[m.rkey] = m
	d.mrs++
	d.bytes += n
	p.users++
	return m, nil
}

// LKey is the key for local requests.
func (m *MR) LKey() uint32 { return m.lkey }

// RKey is the key for peers.
func (m *MR) RKey() uint32 { return m.rkey }

// Addr is the address of the region's first byte.
func (m *MR) Addr() uint64 { return m.addr }

// SGE names a piece of the region.
func (m *MR) SGE(offset, length int) SGE {
	return SGE{Addr: m.addr + uint64(offset), Length: uint32(length), LKey: m.lkey}
}

// Dereg ends the registration: its keys are void at once. The transport may
// hold packets that point into the memory until Released.
func (m *MR) Dereg() error {
	d := m.pd.device
	d.mu.Lock()
	defer d.mu.Unlock()
	if m.gone {
		return ErrInvalid
	}
	m.gone = true
	delete(d.keys, m.lkey)
	delete(d.keys, m.rkey)
	d.mrs--
	d.bytes -= uint64(len(m.mem))
	m.pd.users--
	if m.users == 0 {
		close(m.released)
	}
	return nil
}

// Released is closed when, after Dereg, nothing refers to the memory any more:
// only then may it be unmapped.
func (m *MR) Released() <-chan struct{} { return m.released }

// unuse ends one use. mu is held.
func (m *MR) unuse() {
	m.users--
	if m.users == 0 && m.gone {
		close(m.released)
	}
}

// at gives n bytes from addr on, if they are in the region.
func (m *MR) at(addr, n uint64) ([]byte, bool) {
	size := uint64(len(m.mem))
	if addr < m.addr || addr-m.addr > size || n > size-(addr-m.addr) {
		return nil, false
	}
	from := addr - m.addr
	return m.mem[from : from+n : from+n], true
}

// remote gives memory that a peer names: its key, domain, rights, owner and
// bounds are checked each time. mu is held.
func (q *QP) remote(key uint32, addr, n uint64, need Access) ([]byte, bool) {
	m := q.pd.device.keys[key]
	if m == nil || m.rkey != key || m.pd != q.pd || m.access&need != need || q.attr.Access&need != need {
		return nil, false
	}
	if m.only != nil && *m.only != q.peer.gid {
		return nil, false
	}
	return m.at(addr, n)
}

// gather is a list of pieces of registered memory as one range of bytes.
type gather struct {
	parts [][]byte
	mrs   []*MR
	size  int
}

// local finds the memory of a list. It counts as a user of the regions until
// release. mu is held.
func (p *PD) local(list []SGE, need Access) (g gather, ok bool) {
	for _, s := range list {
		if s.Length == 0 {
			continue
		}
		m := p.device.keys[s.LKey]
		if m == nil || m.lkey != s.LKey || m.pd != p || m.access&need != need {
			g.release()
			return gather{}, false
		}
		b, in := m.at(s.Addr, uint64(s.Length))
		if !in {
			g.release()
			return gather{}, false
		}
		m.users++
		g.parts, g.mrs, g.size = append(g.parts, b), append(g.mrs, m), g.size+len(b)
	}
	return g, true
}

// release lets the regions go. mu is held.
func (g *gather) release() {
	for _, m := range g.mrs {
		m.unuse()
	}
	g.mrs = nil
}

// slice appends the pieces of bytes [off, off+n) to parts.
func (g *gather) slice(parts [][]byte, off, n int) [][]byte {
	for _, p := range g.parts {
		if n == 0 {
			break
		}
		if off >= len(p) {
			off -= len(p)
			continue
		}
		k := min(len(p)-off, n)
		parts = append(parts, p[off:off+k])
		off, n = 0, n-k
	}
	return parts
}

// write places data at off, ascending; the caller has checked the bounds.
func (g *gather) write(off int, data []byte) {
	for _, p := range g.slice(nil, off, len(data)) {
		data = data[copy(p, data):]
	}
}

// clone copies a list whose caller may change it.
func clone(list []SGE) []SGE { return slices.Clone(list) }
