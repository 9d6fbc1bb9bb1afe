// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tbnet2/tbnet2/fabric"
	"github.com/tbnet2/tbnet2/transport"
)

// flowPacket is the length of the honest flow's packets, flowHead what of it is
// not the pattern: an Ethernet header and a number.
const (
	flowPacket = 60000
	flowHead   = 14 + 8
)

// flowPattern is what the packets carry, each from another place on.
var flowPattern = func() []byte {
	b := make([]byte, flowPacket+4099)
	_, _ = rand.NewChaCha8([32]byte{3}).Read(b) // never fails
	return b
}()

func patternOf(n uint64) []byte { return flowPattern[n%4099:][:flowPacket-flowHead] }

// flow is numbered packets from the honest host to the victim, every byte
// checked.
type flow struct {
	out, in fabric.Port
	quit    atomic.Bool
	done    sync.WaitGroup
	sent    atomic.Uint64
	got     atomic.Uint64 // packets
	missed  atomic.Uint64 // that did not come in their turn
	next    uint64        // of the handler
	wrong   atomic.Pointer[error]
}

func startFlow(out, in fabric.Port) *flow {
	f := &flow{out: out, in: in}
	in.Handle(f.take)
	f.done.Go(f.send)
	return f
}

func (f *flow) take(batch []transport.Delivery) {
	for _, d := range batch {
		f.check(d.Data)
		if d.Buf != nil {
			f.in.Release(d.Buf)
		}
	}
}

func (f *flow) check(data []byte) {
	if len(data) != flowPacket {
		f.fault(fmt.Errorf("the honest flow got a packet of %d bytes that nobody sent", len(data)))
		return
	}
	n := binary.BigEndian.Uint64(data[14:])
	switch {
	case n < f.next || n >= f.sent.Load()+1:
		f.fault(fmt.Errorf("the honest flow got packet %d, expected %d", n, f.next))
	case !bytes.Equal(data[flowHead:], patternOf(n)):
		f.fault(fmt.Errorf("packet %d of the honest flow is not what was sent", n))
	}
	f.missed.Add(n - f.next)
	f.next = n + 1
	f.got.Add(1)
}

func (f *flow) fault(err error) { f.wrong.CompareAndSwap(nil, &err) }

func (f *flow) send() {
	for n := uint64(0); !f.quit.Load(); n++ {
		head := make([]byte, flowHead)
		copy(head, []byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x90, 0})
		binary.BigEndian.PutUint64(head[14:], n)
		f.sent.Store(n + 1)
		p := &transport.Packet{Parts: [][]byte{head, patternOf(n)}}
		for !f.quit.Load() {
			err := f.out.Send(p)
			f.out.Flush()
			if err == nil {
				break
			}
			if errors.Is(err, fabric.ErrFull) {
				err = f.out.WaitSend()
			}
			if err != nil && !f.quit.Load() {
				f.fault(fmt.Errorf("the honest host cannot send: %w", err))
				return
			}
		}
	}
}

// stop ends sending; close of the fabric ends the rest.
func (f *flow) stop() { f.quit.Store(true) }

// rate measures for d, in bits per second.
func (f *flow) rate(d time.Duration) float64 {
	start, before := time.Now(), f.got.Load()
	time.Sleep(d)
	return float64(f.got.Load()-before) * flowPacket * 8 / time.Since(start).Seconds()
}

func (f *flow) err() error {
	if p := f.wrong.Load(); p != nil {
		return *p
	}
	return nil
}
