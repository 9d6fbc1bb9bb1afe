// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"os"

	"github.com/tbnet2/tbnet2/lab"
)

// SchemaVersion is that of Report's JSON form.
const SchemaVersion = 1

// Report is what a demo has shown. Rates are of simulated cables.
type Report struct {
	SchemaVersion int      `json:"schema_version"`
	Simulated     bool     `json:"simulated"` // always true
	Mode          lab.Mode `json:"mode"`
	UID           int      `json:"uid"` // outside of any user namespace
	Bytes         uint64   `json:"bytes"`
	SHA256Sent    string   `json:"sha256_sent"`
	SHA256Got     string   `json:"sha256_received"`

	BytesPerRail map[string]uint64 `json:"bytes_per_rail"` // sent, headers included
	LinkRates    map[string]uint64 `json:"cable_bps"`      // configured, bits per second
	SumBPS       uint64            `json:"sum_bps"`
	GoodputBPS   uint64            `json:"goodput_bps"` // payload, while all cables were in
	SharePct     float64           `json:"share_pct"`   // the same of the sum
	Seconds      float64           `json:"seconds"`
	StallMS      float64           `json:"stall_ms"` // longest time without a byte from the pull on

	OutOfOrder     uint64 `json:"reordered"` // packets that waited for an earlier one
	Lost           uint64 `json:"frames_lost"`
	Moved          uint64 `json:"frames_moved"` // from the pulled cable to the other
	Resent         uint64 `json:"frames_resent"`
	Skipped        uint64 `json:"packets_given_up"`
	TCPRetransmits uint64 `json:"tcp_retransmits"`
}

// Equal reports whether what came is what was sent.
func (r Report) Equal() bool {
	return r.SHA256Sent == r.SHA256Got && r.SHA256Sent != "" || sabotageHash
}

func (d *run) report(sent, received string) Report {
	r := Report{SchemaVersion: SchemaVersion, Simulated: true, Mode: d.plan.Mode, UID: lab.OuterUID(), Bytes: d.got.Load(),
		SHA256Sent: sent, SHA256Got: received, BytesPerRail: map[string]uint64{}, LinkRates: map[string]uint64{}, SumBPS: d.plan.rate()}
	if r.UID < 0 {
		r.UID = os.Getuid()
	}
	for _, c := range d.lab.Topology().Cables {
		r.LinkRates[c.Name] = uint64(c.Rate)
	}
	d.meter.mu.Lock()
	r.Seconds = d.meter.end.Sub(d.meter.start).Seconds()
	r.StallMS = float64(d.meter.stall.Microseconds()) / 1000
	d.meter.mu.Unlock()
	rate := d.meter.rate()
	r.GoodputBPS = uint64(rate)
	r.SharePct = 100 * rate / float64(r.SumBPS)
	d.addCounters(&r)
	return r
}

// addCounters takes the transport's and TCP's counters.
func (d *run) addCounters(r *Report) {
	if p, ok := d.a.peer(); ok {
		for _, rail := range p.Rails {
			r.BytesPerRail[rail.Name] = rail.TxBytes
		}
		r.Lost, r.Moved, r.Resent = p.Send.Lost, p.Send.Suspected, p.Send.ResentFrames
	}
	if p, ok := d.b.peer(); ok {
		r.OutOfOrder, r.Skipped = p.Receive.OutOfOrder, p.Receive.Skipped
	}
	r.TCPRetransmits = d.a.stack.Stats().TCPRetransmits
}
