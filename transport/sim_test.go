// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bytes"
	"container/heap"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/tbnet2/tbnet2/wire"
)

// A world is two nodes joined by rails, with a clock of its own. Everything
// that happens comes from a seed.
type world struct {
	t           testing.TB
	rng         *rand.Rand
	now         Time
	events      eventHeap
	order       int
	nodes       [2]*node
	lines       [2][]*line // lines[i][r] carries frames from node i on rail r
	incarnation uint32
	offset      [2]Time // clocks of the two hosts differ
	steady      bool    // devices never refuse frames
}

// simRing is the receive ring that every rail claims, in bytes.
const simRing = 1 << 20

// line is one direction of a rail.
type line struct {
	bytesPerMs                            int
	delay, jitter                         Time
	loss, dup, corrupt                    int // per 10 000
	discard, dead                         bool
	stallUntil                            Time
	freeAt, lastArrival                   Time
	sent, arrived, dropped, extra, flying int
}

type node struct {
	w        *world
	id       int
	cfg      Config
	assoc    *Association
	in       Inbox
	burst    Burst
	mem      *countingMemory
	next     [wire.Channels]uint64 // packets sent per channel
	outcome  map[uint64]Outcome
	got      map[uint64]int       // reliable: bytes by packet
	sizes    map[uint64]int       // of packets sent
	last     [wire.Channels]int64 // ordered: newest packet delivered
	inbound  map[uint64]bool
	tickAt   Time
	open     int
	received uint64
	frames   uint64
	events   []Event

	delivered func(*Delivery) // if set, sees what the consumer gets
}

type event struct {
	at    Time
	order int
	run   func()
}

type eventHeap []event

func (h eventHeap) Len() int { return len(h) }
func (h eventHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].order < h[j].order
}
func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *eventHeap) Push(x any)   { *h = append(*h, x.(event)) }
func (h *eventHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	*h = old[:len(old)-1]
	return e
}

// countingMemory knows what is out. limit is how many bytes may wait ahead of
// their turn, 0: any.
type countingMemory struct{ out, bytes, most, limit int }

func (m *countingMemory) Room() int {
	if m.limit == 0 {
		return 1 << 40
	}
	return m.limit - m.bytes
}

func (m *countingMemory) Get(n int) *Buffer {
	m.out++
	m.bytes += n
	m.most = max(m.most, m.bytes)
	return &Buffer{Data: make([]byte, n)}
}

func (m *countingMemory) Put(b *Buffer) {
	m.out--
	m.bytes -= len(b.Data)
}

func newWorld(t testing.TB, seed uint64, cfg Config, lines [2][]*line, mtus []int) *world {
	w := &world{t: t, rng: rand.New(rand.NewPCG(seed, 1)), lines: lines}
	w.offset[1] = Time(w.rng.Int64N(int64(Second))) << 8
	for i := range w.nodes {
		w.nodes[i] = &node{w: w, id: i, mem: new(countingMemory)}
	}
	w.connect(cfg, mtus)
	return w
}

// connect gives both nodes a new association, as a handshake would.
func (w *world) connect(cfg Config, mtus []int) {
	w.incarnation++
	for i, n := range w.nodes {
		if n.assoc != nil {
			n.assoc.Close()
		}
		n.cfg = cfg
		n.cfg.Memory = n.mem
		n.cfg.LocalIndex = w.incarnation<<8 | uint32(i)
		n.cfg.PeerIndex = w.incarnation<<8 | uint32(1-i)
		n.assoc = New(n.cfg, n.clock())
		n.next, n.outcome, n.got = [wire.Channels]uint64{}, map[uint64]Outcome{}, map[uint64]int{}
		n.sizes = map[uint64]int{}
		n.inbound, n.open = map[uint64]bool{}, 0
		for ch := range n.last {
			n.last[ch] = -1
		}
		n.in.Reset()
		for line, mtu := range mtus {
			c := RailConfig{ID: n.railID(line), PeerID: w.nodes[1-i].railID(line), MTU: mtu, Ring: simRing}
			if err := n.assoc.AddRail(n.clock(), c); err != nil {
				w.t.Fatal(err)
			}
		}
		n.tickAt = 0
	}
	for _, n := range w.nodes {
		n.arm()
	}
}

func (n *node) clock() Time { return n.w.now + n.w.offset[n.id] }

func (w *world) at(t Time, f func()) {
	w.order++
	heap.Push(&w.events, event{max(t, w.now), w.order, f})
}

// run goes on until the given time.
func (w *world) run(until Time) {
	for len(w.events) > 0 && w.events[0].at <= until {
		e := heap.Pop(&w.events).(event)
		w.now = e.at
		e.run()
	}
	w.now = until
}

// arm sets the node's timer to its next tick.
func (n *node) arm() {
	due := min(n.assoc.DeadlineReceive(), n.assoc.DeadlineSend()) - n.w.offset[n.id]
	due = max(due, n.w.now)
	if n.tickAt > n.w.now && n.tickAt <= due {
		return
	}
	n.tickAt = due
	assoc := n.assoc
	n.w.at(due, func() {
		if n.tickAt != due || n.assoc != assoc {
			return
		}
		n.tickAt = 0
		n.assoc.TickReceive(n.clock(), &n.in)
		n.assoc.TickSend(n.clock(), &n.in)
		n.after()
	})
}

// after takes what a call brought and sends what it caused.
func (n *node) after() {
	for _, d := range n.in.Deliveries {
		n.deliver(d)
	}
	n.events = append(n.events, n.in.Events...)
	n.in.Reset()
	n.flush()
	n.arm()
}

func (n *node) flush() {
	for more := true; more; {
		n.burst.Reset()
		more = n.assoc.Transmit(n.clock(), &n.burst)
		n.checkCredit()
		for id := range n.burst.Rails().All() {
			if !n.w.steady && n.w.rng.IntN(64) == 0 { // the device refuses some
				n.assoc.Unsent(id, &n.burst, 1+n.w.rng.IntN(len(n.burst.Frames(id))))
				assoc := n.assoc
				n.w.at(n.w.now+50*Microsecond, func() {
					if n.assoc == assoc {
						assoc.Writable(id)
						n.flush()
						n.arm()
					}
				})
			}
			for _, f := range n.burst.Frames(id) {
				n.transmit(id, &f)
			}
		}
	}
}

// checkCredit holds the sender to the peer's credit: what is in flight and is
// not a repetition fits the ring.
func (n *node) checkCredit() {
	for id := range n.assoc.send.railSet.All() {
		r := n.assoc.send.rails[id]
		fresh := 0
		for s := r.ledger.una; s != r.ledger.next; s++ {
			if e := r.ledger.at(s); e.flags&entryResent == 0 && e.marks == 0 {
				fresh += int(e.size)
			}
		}
		if fresh > simRing {
			n.w.t.Fatalf("rail %d has %d bytes in flight for a ring of %d", id, fresh, simRing)
		}
	}
}

// railIndex is the line that a node's rail id stands for.
func (n *node) railIndex(id RailID) int {
	count := len(n.w.lines[0])
	if n.id == 0 {
		return int(id)
	}
	return (int(id) + count - 1) % count
}

func (n *node) railID(line int) RailID {
	if n.id == 0 {
		return RailID(line)
	}
	return RailID((line + 1) % len(n.w.lines[0]))
}

func (n *node) transmit(id RailID, f *Frame) {
	w := n.w
	index := n.railIndex(id)
	l := w.lines[n.id][index]
	b := append(make([]byte, 0, f.Size()), f.Head...)
	for _, part := range f.Body(nil) {
		b = append(b, part...)
	}
	l.sent++
	if l.dead || l.discard || w.rng.IntN(10000) < l.loss {
		l.dropped++
		return
	}
	if w.rng.IntN(10000) < l.corrupt {
		b[w.rng.IntN(len(b))] ^= 1 << w.rng.IntN(8)
	}
	copies := 1
	if w.rng.IntN(10000) < l.dup {
		copies, l.extra = 2, l.extra+1
	}
	l.freeAt = max(l.freeAt, w.now) + Time(len(b))*Millisecond/Time(l.bytesPerMs)
	arrival := l.freeAt + l.delay
	if l.jitter > 0 {
		arrival += Time(w.rng.Int64N(int64(l.jitter)))
	}
	arrival = max(arrival, l.lastArrival, l.stallUntil)
	l.lastArrival = arrival
	peer := w.nodes[1-n.id]
	for range copies {
		l.flying++
		w.at(arrival, func() {
			l.flying--
			l.arrived++
			peer.receive(peer.railID(index), b)
		})
	}
}

func (n *node) receive(id RailID, frame []byte) {
	n.frames++
	n.assoc.Receive(n.clock(), id, frame, &n.in)
	n.assoc.EndReceive(n.clock(), &n.in)
	n.assoc.Apply(n.clock(), &n.in)
	n.after()
}

// key names a packet of a world.
func key(ch uint8, number uint64) uint64 { return uint64(ch)<<48 | number }

// content makes the bytes of a packet from its name.
func content(k uint64, size int) []byte {
	b := make([]byte, (size+7)&^7)
	x := k<<20 ^ uint64(size)
	for i := 0; i < size; i += 8 { // SplitMix64, cut short
		x += 0x9e3779b97f4a7c15
		binary.LittleEndian.PutUint64(b[i:], (x^x>>30)*0xbf58476d1ce4e5b9)
	}
	return b[:size]
}

// submit sends the next packet of a channel, if there is room.
func (n *node) submit(ch uint8, size int, offload bool) bool {
	k := key(ch, n.next[ch])
	body := content(k, size)
	half := size / 3
	p := &Packet{Parts: [][]byte{body[:half], body[half:]}, Channel: ch}
	if offload && size > 100 {
		p.HasOffload = true
		p.Offload = wire.Offload{Flags: wire.OffloadNeedsCsum, GSOType: wire.GSOTCPv4, HdrLen: 54, GSOSize: 1448, CsumStart: 34, CsumOffset: 16}
	}
	outcomes := n.outcome
	p.Done = func(_ *Packet, o Outcome) {
		if old, ok := outcomes[k]; ok {
			n.w.t.Fatalf("packet %x is done twice: %v, %v", k, old, o)
		}
		outcomes[k] = o
		n.open--
		clear(body) // the transport must not look at it any more
	}
	if n.assoc.Send(p) != nil {
		return false
	}
	n.sizes[k] = size
	n.next[ch]++
	n.open++
	return true
}

// deliver checks what the consumer gets.
func (n *node) deliver(d Delivery) {
	number := uint64(d.Packet) // channels begin at 0 and stay short
	k := key(d.Channel, number)
	want := content(k, d.Total)
	if !bytes.Equal(d.Data, want[d.Offset:d.Offset+len(d.Data)]) {
		n.w.t.Fatalf("packet %x at %d: content differs", k, d.Offset)
	}
	n.received += uint64(len(d.Data))
	if n.delivered != nil {
		n.delivered(&d)
	}
	if n.cfg.Class == Reliable {
		n.got[k] += len(d.Data)
		if n.got[k] > d.Total {
			n.w.t.Fatalf("packet %x: %d bytes delivered of %d", k, n.got[k], d.Total)
		}
	} else {
		if int64(number) <= n.last[d.Channel] {
			n.w.t.Fatalf("channel %d: packet %d after %d", d.Channel, number, n.last[d.Channel])
		}
		n.last[d.Channel] = int64(number)
		n.inbound[k] = true
	}
	if d.Buf != nil {
		n.mem.Put(d.Buf)
	}
}

// check holds what must be true of a finished world.
func (w *world) check() {
	for i, n := range w.nodes {
		peer := w.nodes[1-i]
		for ch := range uint8(wire.Channels) {
			for num := range n.next[ch] {
				w.checkPacket(n, peer, key(ch, num))
			}
		}
		rs := n.assoc.ReceiveStats()
		drops := uint64(0)
		rs.Drops.Each(func(_ string, c uint64) { drops += c })
		if rs.Frames != rs.Taken+drops {
			w.t.Fatalf("node %d: %d frames, %d taken, %d dropped", i, rs.Frames, rs.Taken, drops)
		}
		if rs.ParkedBytesMost > uint64(wire.Channels*n.cfg.withDefaults().Window) {
			w.t.Fatalf("node %d: %d bytes parked", i, rs.ParkedBytesMost)
		}
		for r, l := range w.lines[i] {
			if l.sent+l.extra != l.arrived+l.dropped+l.flying {
				w.t.Fatalf("line %d/%d: %d sent, %d arrived, %d dropped, %d flying", i, r, l.sent, l.arrived, l.dropped, l.flying)
			}
		}
	}
	for i, n := range w.nodes {
		n.assoc.Close()
		n.assoc.Close() // twice does no harm
		if n.mem.out != 0 || n.open != 0 {
			w.t.Fatalf("node %d: %d buffers and %d packets left", i, n.mem.out, n.open)
		}
	}
}

func (w *world) checkPacket(n, peer *node, k uint64) {
	o, done := n.outcome[k]
	switch {
	case !done:
		w.t.Fatalf("node %d: packet %x is never done", n.id, k)
	case n.cfg.Class == Reliable && (o != Acknowledged || peer.got[k] != n.sizes[k]):
		w.t.Fatalf("node %d: packet %x %v, %d bytes", n.id, k, o, peer.got[k])
	case n.cfg.Class == Ordered && o == Acknowledged && !peer.inbound[k]:
		w.t.Fatalf("node %d: packet %x acknowledged and not delivered", n.id, k)
	}
}

func newWorldRNG(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 2)) }
