// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tbnet2/tbnet2/rail"
	"github.com/tbnet2/tbnet2/rail/mem"
	"github.com/tbnet2/tbnet2/transport"
	"github.com/tbnet2/tbnet2/wire"
)

// attacker owns the far end of the hostile segment, with as many addresses as
// it likes.
type attacker struct {
	dev   *mem.Device
	since time.Time
	known facts
	liars []*liar
	byMAC map[rail.MAC]*liar
	tape  *tape
	quit  chan struct{}
	done  sync.WaitGroup

	sendMu sync.Mutex // one Send at a time
	failed atomic.Pointer[error]
}

func newAttacker(dev *mem.Device, victim [16]byte, victimMAC rail.MAC, t *tape, liars int, seed uint64) *attacker {
	a := &attacker{dev: dev, since: time.Now(), byMAC: map[rail.MAC]*liar{}, tape: t, quit: make(chan struct{})}
	a.known.victim = victim
	for n := range liars {
		l := newLiar(n, seed, a.now(), a.sendOne)
		l.to = victimMAC
		a.liars = append(a.liars, l)
		a.byMAC[l.mac] = l
	}
	a.done.Go(a.listen)
	a.done.Go(a.keep)
	return a
}

func (a *attacker) now() transport.Time { return transport.Time(time.Since(a.since)) }

// close ends the attacker's goroutines; its device is closed with it.
func (a *attacker) close() error {
	close(a.quit)
	err := a.dev.Close()
	a.done.Wait()
	if p := a.failed.Load(); p != nil {
		err = errors.Join(err, *p)
	}
	return err
}

// listen follows what the victim sends.
func (a *attacker) listen() {
	frames := make([]rail.RxFrame, 64)
	for {
		n, err := a.dev.Recv(frames)
		if err != nil {
			return
		}
		for _, f := range frames[:n] {
			if len(f.Data) < macLen {
				continue
			}
			to, frame := rail.MAC(f.Data[:macLen]), f.Data[macLen:]
			a.known.read(frame)
			a.tape.record(frame)
			if l := a.byMAC[to]; l != nil {
				l.hear(a.now(), f.From, frame)
			} else if to[0]&1 != 0 {
				for _, l := range a.liars {
					l.hear(a.now(), f.From, frame)
				}
			}
		}
	}
}

// keep has the liars greet, and ping ten times a second.
func (a *attacker) keep() {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-tick.C:
		case <-a.quit:
			return
		}
		for _, l := range a.liars {
			l.tick(a.now(), n%5 == 0)
		}
	}
}

// sendOne sends a frame of the liars' own.
func (a *attacker) sendOne(from, _ rail.MAC, frame []byte) {
	a.send(a.dev, []rail.TxFrame{{To: everybody, Head: from[:], Body: [][]byte{frame}}})
}

var everybody = rail.MAC{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

func (a *attacker) send(dev *mem.Device, batch []rail.TxFrame) {
	a.sendMu.Lock()
	defer a.sendMu.Unlock()
	for len(batch) > 0 {
		n, err := dev.Send(batch)
		batch = batch[n:]
		switch {
		case errors.Is(err, rail.ErrClosed):
			return
		case err != nil && !errors.Is(err, rail.ErrAgain):
			err = fmt.Errorf("attack: %w", err)
			a.failed.Store(&err)
			return
		case err != nil && dev.WaitSend() != nil:
			return
		}
	}
}

// shot is a frame and where it claims to come from.
type shot struct {
	from  rail.MAC
	frame []byte
}

// attack is one way to be hostile: each call gives another frame.
type attack struct {
	name  string
	liars int // false hosts that associate first
	shot  func(a *attacker, g grammar, n int) shot
}

// attacks are the single ones. What they need of a liar comes from the liars in
// turn.
var attacks = []attack{
	{"random", 0, func(_ *attacker, g grammar, _ int) shot { return shot{g.mac(), g.bytes(g.IntN(300))} }},
	{"truncated", 8, truncated},
	{"replayed", 8, replayed},
	{"grammar", 8, grammatical},
	{"contradictory", 8, contradictory},
	{"greetings", 0, func(a *attacker, g grammar, _ int) shot { return shot{g.mac(), g.greeting(&a.known)} }},
	{"edges", 0, edges},
	{"indices", 0, indices},
	{"hoard", 250, hoard},
	{"identities", 400, identities},
}

// everything is all of them at once.
var everything = attack{"all", 250, func(a *attacker, g grammar, n int) shot {
	return attacks[g.IntN(len(attacks))].shot(a, g, n)
}}

func (a *attacker) liar(n int) *liar { return a.liars[n%len(a.liars)] }

func grammatical(a *attacker, g grammar, n int) shot {
	l := a.liar(n)
	index, seq := l.target()
	frame := g.any(&a.known, index, seq)
	l.follow(frame)
	return shot{l.mac, frame}
}

func truncated(a *attacker, g grammar, n int) shot {
	s := grammatical(a, g, n)
	s.frame = s.frame[:g.IntN(len(s.frame)+1)]
	return s
}

// replayed gives frames of the honest hosts and of our own, as they were or
// changed, from where they came or from elsewhere.
func replayed(a *attacker, g grammar, n int) shot {
	frame := a.tape.pick(g)
	if g.IntN(2) == 0 {
		frame = g.mutate(frame)
	}
	switch g.IntN(3) {
	case 0:
		return shot{a.tape.honest, frame}
	case 1:
		return shot{g.mac(), frame}
	}
	return shot{a.liar(n).mac, frame}
}

// contradictory takes rail sequences as it should and lies about all else.
func contradictory(a *attacker, g grammar, n int) shot {
	l := a.liar(n)
	index, seq := l.next()
	return shot{l.mac, g.sealed(wire.Header{Type: wire.TypeData, Index: index, RailSeq: seq}, g.data(0, 0))}
}

// edges shows one host behind as many addresses as there are.
func edges(_ *attacker, g grammar, _ int) shot {
	m := wire.Hello{Nonce: g.Uint64(), Epoch: 7, Index: 1<<8 | 9, Service: wire.ServiceEthernet, VersionLow: wire.Version,
		VersionHigh: wire.Version, MTU: 9000, Host: [16]byte{0xff, 0xed}, Group: uint64(g.IntN(1 << 16)), Name: "honest"}
	return shot{rail.MAC{2, 0xed, 0, 0, byte(g.IntN(256)), byte(g.IntN(256))}, g.sealed(wire.Header{}, wire.AppendHello(g.memory.space(greetingMost), &m))}
}

// indices guesses those of the honest host, from its address.
func indices(a *attacker, g grammar, _ int) shot {
	return shot{a.tape.honest, g.any(&a.known, g.Uint32()&^0xff|1, g.Uint32())}
}

// hoard begins packets that never end, as many as there is room for.
func hoard(a *attacker, g grammar, n int) shot {
	l := a.liar(n)
	index, seq := l.next()
	k := n / len(a.liars)
	d := wire.Data{Packet: uint32(1 + k/wire.Channels%1000), Channel: uint8(k % wire.Channels), Total: wire.PacketMax}
	body := g.memory.zeros(wire.DataLen + wire.Unit)
	d.Put(body)
	return shot{l.mac, g.sealed(wire.Header{Type: wire.TypeData, Index: index, RailSeq: seq}, body)}
}

// identities only come and go: liars beyond the bound do the rest.
func identities(a *attacker, g grammar, n int) shot {
	if n%16 != 0 {
		return shot{g.mac(), g.greeting(&a.known)}
	}
	l := a.liar(n / 16)
	index, _ := l.target()
	return shot{l.mac, g.sealed(wire.Header{Type: wire.TypeReset}, wire.AppendReset(g.memory.space(wire.ResetLen), wire.Reset{Index: index, Reason: wire.ResetClosing}))}
}

// places are the rail sequences of all liars, which frames that nobody hears
// must not move.
func (a *attacker) places() (seqs []uint32) {
	for _, l := range a.liars {
		_, seq := l.target()
		seqs = append(seqs, seq)
	}
	return seqs
}

func (a *attacker) restore(seqs []uint32) {
	for i, l := range a.liars {
		l.setSeq(seqs[i])
	}
}

// batchOf is how many frames are sent at once.
const batchOf = 64

// start attacks on dev until stop is called, which gives how many frames it
// sent. from is how many were sent before.
func (a *attacker) start(kind attack, g grammar, dev *mem.Device, from int) (stop func() int) {
	quit, sent := make(chan struct{}), make(chan int)
	go func() { sent <- a.run(kind, g, dev, from, quit) }()
	return func() int {
		close(quit)
		return <-sent
	}
}

func (a *attacker) run(kind attack, g grammar, dev *mem.Device, from int, stop <-chan struct{}) (sent int) {
	batch := make([]rail.TxFrame, batchOf)
	macs := make([]rail.MAC, batchOf)
	for {
		select {
		case <-stop:
			return sent
		default:
		}
		g.memory.reset()
		for i := range batch {
			s := kind.shot(a, g, from+sent+i)
			macs[i] = s.from
			batch[i] = rail.TxFrame{To: everybody, Head: macs[i][:], Body: [][]byte{s.frame}}
		}
		a.send(dev, batch)
		sent += batchOf
		runtime.Gosched() // it stands for a machine of its own
	}
}
