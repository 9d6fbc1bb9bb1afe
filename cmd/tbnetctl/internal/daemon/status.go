// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tbnet2/tbnet2/ctl"
	"github.com/tbnet2/tbnet2/fabric"
	"github.com/tbnet2/tbnet2/transport"
	"github.com/tbnet2/tbnet2/userstack"
)

// snapshot makes the ctl model's view of the daemon.
func (d *daemon) snapshot() *ctl.Status {
	f := d.fabric.Status()
	s := &ctl.Status{
		SchemaVersion: ctl.SchemaVersion, Time: time.Now(),
		Host:  ctl.Host{UUID: f.Host, Name: f.HostName, Version: ctl.Version, Backend: "daemon", Endpoint: f.Endpoint, Started: d.started},
		Bonds: []ctl.Bond{}, Peers: []ctl.Peer{}, Rails: []ctl.Rail{}, Drops: []ctl.Drop{}, Warnings: []ctl.Warning{},
	}
	devices := map[string]fabric.DeviceStatus{}
	for _, dev := range f.Devices {
		devices[dev.Name] = dev
		s.Simulated = s.Simulated || simulated(dev.Info.Name)
	}
	for i := range f.Peers {
		d.addPeer(s, &f.Peers[i], devices)
	}
	for _, name := range slices.Sorted(maps.Keys(devices)) {
		s.Rails = append(s.Rails, d.unpaired(devices[name])) // addPeer has taken out those of peers
	}
	for _, a := range d.keeper.absent() {
		s.Rails = append(s.Rails, ctl.Rail{Name: a.config.Name, Device: cmp.Or(a.config.Device, a.config.Path), State: ctl.RailDown, Reason: a.reason, Enabled: true, Weight: a.config.Weight})
	}
	slices.SortStableFunc(s.Rails, func(a, b ctl.Rail) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Peer, b.Peer)) })
	s.Bonds = append(s.Bonds, d.bond(s))
	s.Drops = d.drops(&f)
	s.Warnings = warnings(s, f.Mismatches)
	return s
}

// addPeer adds a peer and its rails, and takes their devices out of devices.
func (d *daemon) addPeer(s *ctl.Status, p *fabric.PeerStatus, devices map[string]fabric.DeviceStatus) {
	name := cmp.Or(p.Name, p.Host)
	out := ctl.Peer{UUID: p.Host, Name: name, State: ctl.PeerConnected, Addresses: peerAddresses(p.Host), Rails: []string{}, Retransmit: p.Retransmit,
		Flow: ctl.FlowCounters{TxPackets: p.Send.Packets, TxBytes: p.Send.Bytes, TxResentBytes: p.Send.ResentBytes,
			RxPackets: p.Receive.Packets, RxBytes: p.Receive.PacketBytes, RxReordered: p.Receive.OutOfOrder,
			RxParkedBytes: p.Receive.ParkedBytes, TxQueuedBytes: p.Send.QueuedBytes}}
	if !p.Up {
		out.State, out.Reason = ctl.PeerLost, "no rail is up"
	}
	for i := range p.Rails {
		r := d.rail(&p.Rails[i], devices[p.Rails[i].Name])
		r.Peer, r.PeerUUID = name, p.Host
		r.Since = d.since.of(r.Name, name)
		out.Rails = append(out.Rails, r.Name)
		if r.State == ctl.RailUp && r.InUse {
			out.RateBPS += r.RateBPS
			if out.RTTNS == 0 || r.RTTNS < out.RTTNS {
				out.RTTNS = r.RTTNS
			}
		}
		s.Rails = append(s.Rails, r)
	}
	for _, name := range out.Rails {
		delete(devices, name)
	}
	s.Peers = append(s.Peers, out)
}

func (d *daemon) rail(r *fabric.RailStatus, dev fabric.DeviceStatus) ctl.Rail {
	return ctl.Rail{
		Name: r.Name, Device: dev.Info.Name, State: ctl.RailState(r.State), Reason: reasonText(r.Reason), Enabled: dev.Enabled,
		InUse: r.InUse, Carrier: dev.Info.Carrier, Simulated: simulated(dev.Info.Name), Weight: r.Weight, MTU: r.LocalMTU, PeerMTU: r.PeerMTU,
		LinkBPS: dev.Info.Rate, RateBPS: r.RateBits, DelayNS: int64(r.Delay), RTTNS: int64(r.RTT),
		Counters: ctl.RailCounters{
			TxFrames: r.TxFrames, TxBytes: r.TxBytes, TxErrors: dev.Stats.TxErrors, TxStall: dev.Stats.TxBusy, TxLost: r.Lost, CreditWait: r.CreditWait,
			RxFrames: r.RxFrames, RxBytes: r.RxBytes, RxErrors: dev.Stats.RxErrors, RxNoBuffer: dev.Stats.RxDropped, RxLost: r.RxLost,
			RxReordered: r.RxReordered, Flaps: r.Flaps, Suspicions: r.Suspicions},
	}
}

// unpaired is a device on which no peer was found.
func (d *daemon) unpaired(dev fabric.DeviceStatus) ctl.Rail {
	r := ctl.Rail{Name: dev.Name, Device: dev.Info.Name, State: ctl.RailUnpaired, Reason: "no tbnet2 host answers", Enabled: dev.Enabled,
		Carrier: dev.Info.Carrier, Simulated: simulated(dev.Info.Name), MTU: dev.Info.MTU, LinkBPS: dev.Info.Rate,
		Counters: ctl.RailCounters{TxFrames: dev.Stats.TxFrames, TxBytes: dev.Stats.TxBytes, TxErrors: dev.Stats.TxErrors, TxStall: dev.Stats.TxBusy,
			RxFrames: dev.Stats.RxFrames, RxBytes: dev.Stats.RxBytes, RxErrors: dev.Stats.RxErrors, RxNoBuffer: dev.Stats.RxDropped}}
	switch {
	case !dev.Enabled:
		r.Reason = "taken down by hand"
	case !dev.Info.Carrier:
		r.State, r.Reason = ctl.RailDown, "no carrier"
	}
	return r
}

// reasonTexts are the transport's reasons in words.
var reasonTexts = map[string]string{
	transport.ReasonNew.String():        "just found",
	transport.ReasonNoCarrier.String():  "no carrier",
	transport.ReasonSilent.String():     "nothing is heard from the peer",
	transport.ReasonUnheard.String():    "heard in one direction only: the peer does not hear this host",
	transport.ReasonUnanswered.String(): "frames are not acknowledged",
	transport.ReasonDisabled.String():   "taken down by hand",
}

func reasonText(reason string) string { return cmp.Or(reasonTexts[reason], reason) }

// bond completes the outlet's status by what its peers give it.
func (d *daemon) bond(s *ctl.Status) ctl.Bond {
	b := d.outlet.status()
	b.Peers = []string{}
	for i := range s.Peers {
		if p := &s.Peers[i]; p.State == ctl.PeerConnected {
			b.Peers = append(b.Peers, p.Name)
			b.RateBPS += p.RateBPS
		}
	}
	return b
}

// drops adds up what fabric, associations and outlet have dropped, by reason.
func (d *daemon) drops(f *fabric.Status) []ctl.Drop {
	sum := d.outlet.drops()
	for reason, n := range f.Drops {
		sum[reason] += n
	}
	for i := range f.Peers {
		p := &f.Peers[i]
		p.Receive.Drops.Each(func(name string, n uint64) { sum[name] += n })
		sum["given_up"] += p.Send.Outcomes[transport.GivenUp]
		sum["aborted"] += p.Send.Outcomes[transport.Aborted]
		sum["lost_packets"] += p.Receive.Skipped + p.Receive.ProvenLost
	}
	out := []ctl.Drop{}
	for _, reason := range slices.Sorted(maps.Keys(sum)) {
		out = append(out, ctl.Drop{Reason: reason, Count: sum[reason]})
	}
	return out
}

// warnings names what works but should not stay so.
func warnings(s *ctl.Status, mismatches []fabric.Mismatch) []ctl.Warning {
	out := []ctl.Warning{}
	add := func(code, format string, args ...any) {
		out = append(out, ctl.Warning{Code: code, Message: fmt.Sprintf(format, args...)})
	}
	for i := range s.Rails {
		r := &s.Rails[i]
		if r.Enabled && r.State != ctl.RailUp {
			add("rail_down", "rail %s%s is %s: %s", r.Name, toPeer(r.Peer), r.State, r.Reason)
		}
		if r.PeerMTU != 0 && r.MTU != r.PeerMTU {
			add("mtu_unequal", "rail %s has MTU %d here and %d at %s", r.Name, r.MTU, r.PeerMTU, r.Peer)
		}
	}
	for _, m := range mismatches {
		code := "mismatch"
		if strings.Contains(m.Text, "the same UUID") {
			code = "uuid_conflict"
		}
		add(code, "on rail %s: %s", m.Rail, m.Text)
	}
	return out
}

// peerAddresses are those that every host has by its UUID.
func peerAddresses(host string) []string {
	id, err := uuid.Parse(host)
	if err != nil {
		return []string{}
	}
	return []string{userstack.LinkLocal6(id).String(), userstack.LinkLocal4(id).String()}
}

func toPeer(peer string) string {
	if peer == "" {
		return ""
	}
	return " to " + peer
}
