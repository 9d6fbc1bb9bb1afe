// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tbnet2/tbnet2/wire"
)

// bless writes the expect lines of a new script; each is then read against
// docs/protocol.md before it is kept.
var bless = flag.String("bless", "", "name of the one script whose expect lines are written anew")

const scriptDir = "../test/vectors/scripts"

// TestScripts replays every script of test/vectors/scripts: what comes out at
// each step is compared line by line.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(scriptDir, "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 25 {
		t.Fatalf("%d scripts, want at least 25", len(files))
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(name, func(t *testing.T) {
			s, err := readScript(file)
			if err != nil {
				t.Fatal(err)
			}
			s.play(t, *bless == name)
			if *bless == name {
				s.write(t, file)
			}
		})
	}
}

// script is a file: lines that set up, then steps.
type script struct {
	file  string
	head  []string // comments and blank lines before the first setup line, and the setup
	setup []scriptLine
	steps []*scriptStep
}

type scriptLine struct {
	number int
	text   string
}

// scriptStep is one moment: actions, and what they bring.
type scriptStep struct {
	at      Time
	actions []scriptLine
	source  []string // the step's lines but for expect
	want    []scriptLine
	got     []string
}

func readScript(file string) (*script, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	s := &script{file: file}
	var pending []string // comments before a step belong to it
	for i, line := range strings.Split(strings.TrimRight(string(text), "\n"), "\n") {
		first, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		l := scriptLine{i + 1, rest}
		var last *scriptStep
		if len(s.steps) > 0 {
			last = s.steps[len(s.steps)-1]
		}
		switch {
		case first == "" || strings.HasPrefix(first, "#"):
			pending = append(pending, line)
		case first == "config" || first == "rail":
			s.head = append(append(s.head, pending...), line)
			pending, s.setup = nil, append(s.setup, scriptLine{i + 1, line})
		case first == "at":
			when, action, _ := strings.Cut(rest, " ")
			at, err := parseTime(when)
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", file, i+1, err)
			}
			s.steps = append(s.steps, &scriptStep{at: at, actions: []scriptLine{{i + 1, action}}, source: append(pending, line)})
			pending = nil
		case first == "and" && last != nil:
			last.actions = append(last.actions, l)
			last.source = append(append(last.source, pending...), line)
			pending = nil
		case first == "expect" && last != nil:
			last.want = append(last.want, l)
		default:
			return nil, fmt.Errorf("%s:%d: %q does not begin a line here", file, i+1, first)
		}
	}
	return s, nil
}

// write puts the script back with what has come out as its expect lines.
func (s *script) write(t *testing.T, file string) {
	var b bytes.Buffer
	for _, line := range s.head {
		fmt.Fprintln(&b, line)
	}
	for _, step := range s.steps {
		for _, line := range step.source {
			fmt.Fprintln(&b, line)
		}
		for _, line := range step.got {
			fmt.Fprintln(&b, "expect "+line)
		}
	}
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// play runs the script against a new association.
func (s *script) play(t *testing.T, blessing bool) {
	p := newPlayer(t, s)
	for _, step := range s.steps {
		p.step(step)
		if !blessing {
			p.compare(step)
		}
	}
	p.finish()
}

// compare fails at the first line that differs.
func (p *player) compare(step *scriptStep) {
	p.t.Helper()
	for i := range max(len(step.got), len(step.want)) {
		got, want, line := "nothing more", "nothing more", step.actions[len(step.actions)-1].number
		if i < len(step.got) {
			got = step.got[i]
		}
		if i < len(step.want) {
			want, line = step.want[i].text, step.want[i].number
		}
		if got != want {
			p.t.Fatalf("%s:%d: at %s\n got %s\nwant %s", p.script.file, line, step.at.text(), got, want)
		}
	}
}

// player is an association and the host around it.
type player struct {
	t      *testing.T
	script *script
	cfg    Config
	a      *Association
	in     Inbox
	burst  Burst
	mem    *countingMemory
	now    Time
	room   [wire.RailsMax]int // frames that a device still takes; -1: any number
	next   [wire.Channels]uint32
	open   int
	out    []string // of the step
	done   []string
	counts map[string]uint64
}

func newPlayer(t *testing.T, s *script) *player {
	p := &player{t: t, script: s, mem: new(countingMemory), counts: map[string]uint64{}}
	for id := range p.room {
		p.room[id] = -1
	}
	for _, l := range s.setup {
		p.guard(l, func(c *clause) { p.setUp(c) })
	}
	if p.a == nil {
		t.Fatalf("%s: no config line", s.file)
	}
	return p
}

// guard runs f on a parsed line and reports what is wrong with its text.
func (p *player) guard(l scriptLine, f func(*clause)) {
	p.t.Helper()
	where := fmt.Sprintf("%s:%d", p.script.file, l.number)
	c, err := parseClause(l.text)
	if err != nil {
		p.t.Fatalf("%s: %v", where, err)
	}
	defer func() {
		if e, ok := recover().(scriptError); ok {
			p.t.Fatalf("%s: %s", where, e)
		}
	}()
	f(&c)
	if key := c.unknown(); key != "" {
		p.t.Fatalf("%s: nobody knows %s= here", where, key)
	}
}

func (p *player) setUp(c *clause) {
	if c.word(0) == "rail" {
		err := p.a.AddRail(0, RailConfig{ID: RailID(number(c.word(1))), PeerID: RailID(c.num("peer", 0)), MTU: int(c.num("mtu", 1500)),
			Rate: Rate(c.num("rate", 0)), Weight: int(c.num("weight", 0)), Ring: int(c.num("ring", 65536)), NoCRC: c.has("no_crc"), TrustLink: c.has("trust_link")})
		if err != nil {
			panic(scriptError(err.Error()))
		}
		return
	}
	p.cfg = Config{Retransmit: c.has("retransmit"), SendCRC: c.has("send_crc"), RequireCRC: c.has("require_crc"),
		ManualConsume: c.has("manual_consume"), LocalIndex: uint32(c.num("index", 257)), PeerIndex: uint32(c.num("peer_index", 513)),
		Slots: int(c.num("slots", 16)), LocalSlots: int(c.num("local_slots", 16)), Window: int(c.num("window", 262144)),
		QueueBytes: int(c.num("queue", 1<<20)), Memory: p.mem}
	if class := c.text("class", "ordered"); class == "reliable" {
		p.cfg.Class = Reliable
	} else if class != "ordered" {
		panic(scriptError("class is ordered or reliable"))
	}
	p.mem.limit = int(c.num("memory", 0))
	p.a = New(p.cfg, 0)
}

// step does the actions of one moment and notes what they bring.
func (p *player) step(step *scriptStep) {
	p.out = nil
	if step.at < p.now {
		p.t.Fatalf("%s:%d: time runs backwards", p.script.file, step.actions[0].number)
	}
	received := false
	for _, l := range step.actions {
		p.guard(l, func(c *clause) {
			if c.word(0) == "run" {
				p.runTo(step.at)
				return
			}
			p.now = step.at
			received = p.act(c) || received
		})
	}
	if received {
		p.a.EndReceive(p.now, &p.in)
		p.a.Apply(p.now, &p.in)
	}
	p.collect()
	step.got = p.out
}

// runTo ticks at every deadline up to and at the given time.
func (p *player) runTo(at Time) {
	for range 100000 {
		due := max(p.now, min(p.a.DeadlineReceive(), p.a.DeadlineSend()))
		if due > at {
			p.now = at
			return
		}
		p.now = due
		p.tick()
		before := len(p.out)
		p.collect()
		if len(p.out) > before {
			p.out = slices.Insert(p.out, before, "tick "+due.text())
		}
	}
	p.t.Fatalf("%s: ticks without end at %s", p.script.file, p.now.text())
}

func (p *player) tick() {
	p.a.TickReceive(p.now, &p.in)
	p.a.TickSend(p.now, &p.in)
}

// act does one action; it reports whether a batch of frames has to be ended.
func (p *player) act(c *clause) (received bool) {
	switch verb := c.word(0); verb {
	case "receive":
		p.a.Receive(p.now, RailID(number(c.word(1))), buildFrame(c, p.cfg.LocalIndex), &p.in)
		return true
	case "consume":
		p.a.Consumed(uint8(c.num("ch", 0)), int(c.num("bytes", 0)))
		return true
	case "send":
		for range c.num("count", 1) {
			p.send(c)
		}
	case "tick":
		p.tick()
	case "carrier":
		p.a.SetCarrier(p.now, RailID(number(c.word(1))), c.word(2) == "up", &p.in)
	case "enable":
		p.a.SetEnabled(p.now, RailID(number(c.word(1))), c.word(2) == "on", &p.in)
	case "use":
		p.a.SetUse(p.now, parseRails(c.word(1)))
	case "weight":
		p.a.SetWeight(RailID(number(c.word(1))), number(c.word(2)))
	case "mtu":
		if err := p.a.SetMTU(p.now, RailID(number(c.word(1))), number(c.word(2))); err != nil {
			panic(scriptError(err.Error()))
		}
	case "remove":
		p.a.RemoveRail(p.now, RailID(number(c.word(1))), &p.in)
	case "room": // the device takes this many frames and then refuses
		p.room[number(c.word(1))] = number(c.word(2))
	case "writable":
		p.room[number(c.word(1))] = -1
		p.a.Writable(RailID(number(c.word(1))))
	default:
		panic(scriptError(fmt.Sprintf("%q is no action", verb)))
	}
	return false
}

// send queues the next packet of a channel.
func (p *player) send(c *clause) {
	ch := uint8(c.num("ch", 0))
	number := p.next[ch]
	body := scriptContent(ch, number, 0, int(c.num("length", 0)))
	q := &Packet{Parts: [][]byte{body[:len(body)/2], body[len(body)/2:]}, Channel: ch}
	if o := c.text("offload", ""); o != "" {
		q.HasOffload, q.Offload = true, parseOffload(o)
	}
	q.Done = func(_ *Packet, o Outcome) {
		p.open--
		p.done = append(p.done, fmt.Sprintf("done ch=%d packet=%d %v", ch, number, o))
	}
	if err := p.a.Send(q); err != nil {
		p.out = append(p.out, "refused "+strings.TrimPrefix(err.Error(), "transport: "))
		return
	}
	p.next[ch]++
	p.open++
}
