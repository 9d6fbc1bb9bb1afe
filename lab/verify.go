// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
	"net"
	"time"
)

// VerifyPlan says what Verify sends.
type VerifyPlan struct {
	From  string `json:"from"`  // host; "": the first
	To    string `json:"to"`    // host; "": the second
	Bytes uint64 `json:"bytes"` // 0: DefaultVerifyBytes
	Over  Over   `json:"over"`  // "": OverFabric
	Rail  string `json:"rail"`  // the cable or rail to use; "": all, or for OverKernel the first
}

// DefaultVerifyBytes is what Verify sends where nothing is said.
const DefaultVerifyBytes = 64 << 20

// Over says what carries a flow.
type Over string

// Carriers.
const (
	// OverFabric is a fabric over all rails of the two hosts with the userspace
	// TCP on top.
	OverFabric Over = "fabric"
	// OverKernel is the kernel's TCP over one rail: the control.
	OverKernel Over = "kernel"
)

// Report is what came of one verified TCP flow.
type Report struct {
	Simulated bool    `json:"simulated"` // always true
	Mode      Mode    `json:"mode"`
	Over      Over    `json:"over"`
	From      string  `json:"from"`
	To        string  `json:"to"`
	Bytes     uint64  `json:"bytes"` // received
	Seconds   float64 `json:"seconds"`
	Rate      Rate    `json:"rate"`     // of the payload
	StallMS   float64 `json:"stall_ms"` // longest time without a byte
	Sent      string  `json:"sha256_sent"`
	Received  string  `json:"sha256_received"`
	Equal     bool    `json:"equal"`
}

// rateDigits is the last digit of a measured rate that means something.
const rateDigits = 100 * Kbit

// flow is one TCP connection between two hosts. done undoes what it needed.
type flow struct {
	client, server net.Conn
	done           func() error
}

// Verify sends bytes that nothing could guess over one TCP flow and compares
// SHA-256 at both ends. The report tells what arrived even where the error is
// not nil; hashes that differ are an error.
func (l *Lab) Verify(ctx context.Context, p VerifyPlan) (Report, error) {
	from, to, err := l.flowEnds(&p)
	if err != nil {
		return Report{}, err
	}
	r := Report{Simulated: true, Mode: l.mode, Over: p.Over, From: from.name, To: to.name}
	open := l.fabricFlow
	if p.Over == OverKernel {
		open = l.kernelFlow
	}
	f, err := open(ctx, from, to, p.Rail)
	if err != nil {
		return r, fmt.Errorf("verify: %w", err)
	}
	err = r.run(ctx, f, p.Bytes)
	if err := errors.Join(err, f.client.Close(), f.server.Close(), f.done()); err != nil {
		return r, fmt.Errorf("verify: %w", err)
	}
	return r, nil
}

// flowEnds fills in what the plan leaves open.
func (l *Lab) flowEnds(p *VerifyPlan) (from, to *Node, err error) {
	if len(l.nodes) < 2 {
		return nil, nil, errors.New("verify: needs two hosts")
	}
	setDefault(&p.From, l.nodes[0].name)
	setDefault(&p.To, l.nodes[1].name)
	setDefault(&p.Bytes, DefaultVerifyBytes)
	setDefault(&p.Over, OverFabric)
	if p.Over != OverFabric && p.Over != OverKernel {
		return nil, nil, fmt.Errorf("verify: unknown carrier %q; there are %q and %q", p.Over, OverFabric, OverKernel)
	}
	if from, err = l.Find(p.From); err != nil {
		return nil, nil, err
	}
	if to, err = l.Find(p.To); err != nil {
		return nil, nil, err
	}
	if from == to {
		return nil, nil, fmt.Errorf("verify: from and to are both %q", p.From)
	}
	return from, to, nil
}

// run sends and receives, and fills in the report.
func (r *Report) run(ctx context.Context, f flow, n uint64) error {
	stop := context.AfterFunc(ctx, func() {
		_ = f.client.SetDeadline(time.Now())
		_ = f.server.SetDeadline(time.Now())
	})
	defer stop()
	start := time.Now()
	sent := make(chan error, 1)
	sum := sha256.New()
	go func() { sent <- sendRandom(f.client, sum, n) }()
	err := r.receive(f.server, n, start)
	if err != nil {
		_ = f.client.SetDeadline(time.Now())
	}
	err = errors.Join(<-sent, err)
	r.Sent = hex.EncodeToString(sum.Sum(nil))
	r.Equal = err == nil && r.Sent == r.Received
	switch {
	case ctx.Err() != nil:
		return errors.Join(ctx.Err(), err)
	case err != nil:
		return err
	case !r.Equal:
		return fmt.Errorf("what arrived is not what was sent: sha256 %s, sent %s", r.Received, r.Sent)
	}
	return nil
}

// verifyBlock is what one write or read takes at most.
const verifyBlock = 256 << 10

// sendRandom sends n bytes of a stream that does not repeat.
func sendRandom(c net.Conn, sum hash.Hash, n uint64) error {
	random := rand.NewChaCha8([32]byte{1: 't', 2: 'b', 3: byte(n)})
	buf := make([]byte, verifyBlock)
	for n > 0 {
		b := buf[:min(n, verifyBlock)]
		_, _ = random.Read(b) // never fails
		sum.Write(b)
		if _, err := c.Write(b); err != nil {
			return fmt.Errorf("send: %w", err)
		}
		n -= uint64(len(b))
	}
	return nil
}

func (r *Report) receive(c net.Conn, n uint64, start time.Time) error {
	sum := sha256.New()
	buf := make([]byte, verifyBlock)
	last, stall := start, time.Duration(0)
	var err error
	for r.Bytes < n && err == nil {
		var got int
		got, err = c.Read(buf[:min(n-r.Bytes, verifyBlock)])
		now := time.Now()
		stall, last = max(stall, now.Sub(last)), now
		sum.Write(buf[:got])
		r.Bytes += uint64(got)
	}
	r.Received = hex.EncodeToString(sum.Sum(nil))
	r.Seconds = last.Sub(start).Seconds()
	r.StallMS = float64(stall.Microseconds()) / 1000
	if r.Seconds > 0 {
		r.Rate = Rate(float64(r.Bytes)*8/r.Seconds) / rateDigits * rateDigits
	}
	if r.Bytes < n {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("receive: %w after %d of %d bytes", err, r.Bytes, n)
	}
	return nil
}
