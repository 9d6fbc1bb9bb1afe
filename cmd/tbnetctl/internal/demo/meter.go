// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"crypto/sha256"
	"hash"
	"sync"
	"time"
)

// warmUp is the part of the bytes that goes before the share is measured: TCP
// has to find the rate first.
const warmUp = 0.1

// meter takes times while bytes arrive.
type meter struct {
	mu        sync.Mutex // guards what follows
	start     time.Time
	last      time.Time // a byte came
	stall     time.Duration
	warm      mark
	half      mark
	pulledAt  time.Time
	pluggedAt time.Time
	end       time.Time
	total     uint64
	waiting   chan struct{} // closed at half
	halfBytes uint64
}

// mark is a number of bytes and when they had come.
type mark struct {
	at    time.Time
	bytes uint64
}

func newDigest() hash.Hash { return sha256.New() }

func (m *meter) begin(d *run) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.start = time.Now()
	m.last, m.total = m.start, d.plan.Bytes
	m.waiting = make(chan struct{})
	m.halfBytes = m.total / 2
}

// atHalf gives a channel that is closed when half of the bytes have come.
func (m *meter) atHalf() <-chan struct{} { return m.waiting }

// arrived notes that so many bytes have come.
func (m *meter) arrived(bytes uint64) {
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.pulledAt.IsZero() {
		m.stall = max(m.stall, now.Sub(m.last))
	}
	m.last, m.end = now, now
	if m.warm.bytes == 0 && float64(bytes) >= warmUp*float64(m.total) {
		m.warm = mark{now, bytes}
	}
	if m.half.bytes == 0 && bytes >= m.halfBytes {
		m.half = mark{now, bytes}
		close(m.waiting)
	}
}

func (m *meter) pulled() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pulledAt = time.Now()
}

func (m *meter) plugged() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pluggedAt = time.Now()
}

// rate is the payload's between warm-up and half, bits per second: all cables
// were in.
func (m *meter) rate() float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	took := m.half.at.Sub(m.warm.at).Seconds()
	if took <= 0 {
		return 0
	}
	return float64(m.half.bytes-m.warm.bytes) * 8 / took
}
