// SPDX-License-Identifier: Apache-2.0

package transport

// Numbers of docs/protocol.md. Those marked tuning may differ between peers.
const (
	pingInterval    = 100 * Millisecond // 8
	downAfter       = 300 * Millisecond // 8: silence that takes a rail down
	suspectLeast    = 10 * Millisecond  // 8
	suspectPing     = 10 * Millisecond  // 8
	ownStall        = 50 * Millisecond  // 8: a later tick than this was our own fault
	deadAfter       = 60 * Second       // 8: without any up rail
	giveUpLeast     = 50 * Millisecond  // 4
	skipInterval    = 10 * Millisecond  // 4, tuning
	positionDelay   = 1 * Millisecond   // 4, tuning
	holeTimeout     = 2 * Second        // 4, tuning: last resort
	railSetInterval = 10 * Millisecond  // 4, tuning
	ackDelay        = 1 * Millisecond   // 5, tuning
	ackFrames       = 64                // 5, tuning
	acksPerWindow   = 4                 // 5, tuning
	ackDetour       = 4                 // 5, tuning: every which ack takes another rail
	stateBytes      = 1400              // 5
	busyTick        = 1 * Millisecond   // tuning: timer while anything is under way

	ratesKept     = 8                 // 6, tuning
	roundLeast    = 1 * Millisecond   // 6, tuning: shorter rounds measure bursts, not rates
	queueTarget   = 1 * Millisecond   // 6, tuning: queueing on the way that a window may cause
	skewMost      = 2 * Millisecond   // 6, tuning: of it a quicker rail may make up by a queue
	rttWindow     = 2 * Second        // 6, tuning: least round trips are forgotten after one to two
	floorRounds   = 8                 // 6, tuning: at the least window, and still slow: the path has changed
	windowFrames  = 4                 // 6, tuning: least window
	windowFirst   = 64 << 10          // 6, tuning: bytes
	windowMost    = 64 << 20          // 6, tuning: bytes
	rateFirst     = Rate(131072)      // 6, tuning: 1 Gb/s until told or measured
	delayWindow   = 500 * Millisecond // 6, tuning: least one-way times are forgotten after one to two
	weightSlack   = 128 << 10         // 6, tuning: bytes a weighted rail may run ahead
	quantum       = 16 << 10          // 6, tuning: bytes a channel sends in its turn
	smallPacket   = 2048              // tuning: bytes up to which a packet has the queue's reserve
	smallReserve  = 256 << 10         // tuning: bytes of it
	probeTries    = 3                 // 8, tuning
	probeInterval = 20 * Millisecond  // 8, tuning
	probeBase     = 1500              // 8
	ledgerFirst   = 256               // frames in flight on a rail, at first
	ledgerMost    = 16384             // and at most; below 2^16, the range of a gap
	seqJumpMost   = 65535             // 4: a frame further ahead is garbage
	outOfSlots    = 0                 // a window of no packets
)
