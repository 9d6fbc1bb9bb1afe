// SPDX-License-Identifier: Apache-2.0

package script

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tbnet2/tbnet2/transport"
	"github.com/tbnet2/tbnet2/wire"
)

// player is an association and the host around it.
type player struct {
	cfg      transport.Config
	a        *transport.Association
	in       transport.Inbox
	burst    transport.Burst
	mem      countingMemory
	now      transport.Time
	room     [wire.RailsMax]int // frames that a device still takes; -1: any number
	next     [256]uint32        // by channel, also those that cannot be
	open     int
	received bool     // a batch has to be ended
	lines    []string // of the step
	done     []string
	counts   []uint64 // as counterNames has them
	spare    []uint64
	sent     []Sent // of the step
	mute     bool   // nothing is written down
}

// Sent is a frame that went out.
type Sent struct {
	Rail transport.RailID // or the device, of the handshake
	To   [6]byte          // of the handshake
	Data []byte
}

// Sent gives the frames that went out since it was last asked.
func (p *Player) Sent() []Sent { return p.core.took() }

// Mute has nothing written down from now on: the player of an association only
// moves frames.
func (p *Player) Mute() { p.core.(*player).mute = true }

// Deliver has frames come in, as one batch.
func (p *Player) Deliver(at transport.Time, frames []Sent) {
	a := p.core.(*player)
	for _, f := range frames {
		a.a.Receive(at, f.Rail, f.Data, &a.in)
	}
	a.received = true
	p.now = at
	a.end(at)
}

func (p *player) took() []Sent {
	sent := p.sent
	p.sent = nil
	return sent
}

// countingMemory counts the buffers that are out. limit is how many bytes may
// wait ahead of their turn, 0: any.
type countingMemory struct{ out, bytes, limit int }

func (m *countingMemory) Room() int {
	if m.limit == 0 {
		return 1 << 40
	}
	return m.limit - m.bytes
}

func (m *countingMemory) Get(n int) *transport.Buffer {
	m.out++
	m.bytes += n
	return &transport.Buffer{Data: make([]byte, n)}
}

func (m *countingMemory) Put(b *transport.Buffer) {
	m.out--
	m.bytes -= len(b.Data)
}

// newPlayer makes the association of a config line.
func newPlayer(c *clause) *player {
	p := &player{}
	for id := range p.room {
		p.room[id] = -1
	}
	p.cfg = transport.Config{Retransmit: c.has("retransmit"), SendCRC: c.has("send_crc"), RequireCRC: c.has("require_crc"),
		ManualConsume: c.has("manual_consume"), Unordered: c.has("unordered"),
		LocalIndex: uint32(c.num("index", 257)), PeerIndex: uint32(c.num("peer_index", 513)),
		Slots: int(c.num("slots", 16)), LocalSlots: int(c.num("local_slots", 16)), Window: int(c.num("window", 262144)),
		QueueBytes: int(c.num("queue", 1<<20)), Memory: &p.mem}
	switch class := c.text("class", "ordered"); class {
	case "reliable":
		p.cfg.Class = transport.Reliable
	case "ordered":
	default:
		panic(scriptError("class is ordered or reliable"))
	}
	switch policy := c.text("policy", "shortest"); policy {
	case "round_robin":
		p.cfg.Policy = transport.RoundRobin
	case "flow_hash":
		p.cfg.Policy = transport.FlowHash
	case "shortest":
	default:
		panic(scriptError("policy is shortest, round_robin or flow_hash"))
	}
	p.mem.limit = int(c.num("memory", 0))
	p.a = transport.New(p.cfg, 0)
	return p
}

// addRail adds the rail of a line.
func (p *player) addRail(c *clause) {
	err := p.a.AddRail(p.now, transport.RailConfig{ID: railID(c), PeerID: transport.RailID(c.num("peer", 0)), MTU: int(c.num("mtu", 1500)),
		Rate: transport.Rate(c.num("rate", 0)), Weight: int(c.num("weight", 0)), Ring: int(c.num("ring", 65536)), NoCRC: c.has("no_crc"), TrustLink: c.has("trust_link")})
	if err != nil {
		panic(scriptError(err.Error()))
	}
}

// railID is the rail that an action names.
func railID(c *clause) transport.RailID {
	id := number(c.word(1))
	if id < 0 || id >= wire.RailsMax {
		panic(scriptError(fmt.Sprintf("%d is no rail", id)))
	}
	return transport.RailID(id)
}

// end ends a batch that was received, and lets everything out.
func (p *player) end(now transport.Time) {
	p.now = now
	if p.received {
		p.a.EndReceive(p.now, &p.in)
		p.a.Apply(p.now, &p.in)
	}
	p.received = false
	p.collect()
}

// out gives what the step has brought.
func (p *player) out() []string {
	lines := p.lines
	p.lines = nil
	return lines
}

// runTo ticks at every deadline up to and at the given time.
func (p *player) runTo(at transport.Time) {
	for range 100000 {
		due := max(p.now, min(p.a.DeadlineReceive(), p.a.DeadlineSend()))
		if due > at {
			p.now = at
			return
		}
		p.now = due
		p.tick()
		before := len(p.lines)
		p.collect()
		if len(p.lines) > before && !p.mute {
			p.lines = slices.Insert(p.lines, before, "tick "+timeText(due))
		}
	}
	panic(scriptError("ticks without end at " + timeText(p.now)))
}

func (p *player) tick() {
	p.a.TickReceive(p.now, &p.in)
	p.a.TickSend(p.now, &p.in)
}

// do does one action.
func (p *player) do(c *clause, now transport.Time) {
	p.now = now
	switch verb := c.word(0); verb {
	case "receive":
		p.a.Receive(p.now, railID(c), buildFrame(c, p.cfg.LocalIndex), &p.in)
		p.received = true
	case "consume":
		p.a.Consumed(uint8(c.num("ch", 0)), int(c.num("bytes", 0)))
		p.received = true
	case "send":
		for range c.num("count", 1) {
			p.send(c)
		}
	case "tick":
		p.tick()
	case "carrier":
		p.a.SetCarrier(p.now, railID(c), c.word(2) == "up", &p.in)
	case "enable":
		p.a.SetEnabled(p.now, railID(c), c.word(2) == "on", &p.in)
	case "use":
		p.a.SetUse(p.now, parseRails(c.word(1)))
	case "weight":
		p.a.SetWeight(railID(c), number(c.word(2)))
	case "mtu":
		if err := p.a.SetMTU(p.now, railID(c), number(c.word(2))); err != nil {
			panic(scriptError(err.Error()))
		}
	case "add":
		p.addRail(c)
	case "remove":
		p.a.RemoveRail(p.now, railID(c), &p.in)
	case "room": // the device takes this many frames and then refuses
		p.room[railID(c)] = number(c.word(2))
	case "writable":
		p.room[railID(c)] = -1
		p.a.Writable(railID(c))
	default:
		panic(scriptError(fmt.Sprintf("%q is no action", verb)))
	}
}

// send queues the next packet of a channel.
func (p *player) send(c *clause) {
	ch := uint8(c.num("ch", 0))
	number := p.next[ch]
	body := scriptContent(ch, number, 0, int(c.num("length", 0)))
	q := &transport.Packet{Parts: [][]byte{body[:len(body)/2], body[len(body)/2:]}, Channel: ch}
	if o := c.text("offload", ""); o != "" {
		q.HasOffload, q.Offload = true, parseOffload(o)
	}
	q.Done = func(_ *transport.Packet, o transport.Outcome) {
		p.open--
		p.done = append(p.done, fmt.Sprintf("done ch=%d packet=%d %v", ch, number, o))
	}
	if err := p.a.Send(q); err != nil {
		p.lines = append(p.lines, "refused "+strings.TrimPrefix(err.Error(), "transport: "))
		return
	}
	p.next[ch]++
	p.open++
}
