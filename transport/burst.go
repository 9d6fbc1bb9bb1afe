// SPDX-License-Identifier: Apache-2.0

package transport

import "github.com/tbnet2/tbnet2/wire"

// Bounds of one Burst.
const (
	burstFrames = 256
	burstArena  = burstFrames*(wire.HeaderLen+wire.DataLen+wire.OffloadLen) + 8*stateBytes
)

// Burst collects the frames of one Transmit by rail. It is reused; the frames
// are valid until Reset. The zero Burst is ready.
type Burst struct {
	rails  RailSet
	frames [wire.RailsMax][]Frame
	count  int
	arena  []byte // heads; never grows, so that they stay where they are
	parts  [][]byte
}

// Rails tells which rails have frames.
func (b *Burst) Rails() RailSet { return b.rails }

// Frames gives a rail's frames, in the order they must be sent.
func (b *Burst) Frames(id RailID) []Frame { return b.frames[id] }

// Reset empties the burst.
func (b *Burst) Reset() {
	for id := range b.rails.All() {
		b.frames[id] = b.frames[id][:0]
	}
	b.rails, b.count = 0, 0
	b.arena = b.arena[:0]
}

// room reports whether a frame with a head of n bytes fits.
func (b *Burst) room(n int) bool {
	if b.arena == nil {
		b.arena = make([]byte, 0, burstArena)
	}
	return b.count < burstFrames && len(b.arena)+n <= cap(b.arena)
}

// head gives n bytes for a head; room(n) was true.
func (b *Burst) head(n int) []byte {
	at := len(b.arena)
	b.arena = b.arena[:at+n]
	return b.arena[at : at+n : at+n]
}

func (b *Burst) add(id RailID, f Frame) {
	b.frames[id] = append(b.frames[id], f)
	b.rails = b.rails.With(id)
	b.count++
}

// seal sets the CRC of every frame on a rail.
func (b *Burst) seal(id RailID) {
	for i := range b.frames[id] {
		f := &b.frames[id][i]
		b.parts = f.Body(b.parts[:0])
		wire.Seal(f.Head, b.parts...)
	}
}
