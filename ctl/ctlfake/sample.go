// SPDX-License-Identifier: Apache-2.0

package ctlfake

import (
	"time"

	"github.com/tbnet2/tbnet2/ctl"
)

// Sample is a status to test with: host node1 with peer node2 on four rails
// over two cables, one of them down, and one device without a peer. It is
// marked as simulated. Its figures are made up.
func Sample() ctl.Status {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	const uuid1, uuid2 = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
	return ctl.Status{
		SchemaVersion: ctl.SchemaVersion, Time: at, Simulated: true,
		Host: ctl.Host{UUID: uuid1, Name: "node1", Version: ctl.Version, Backend: "fake", Endpoint: 1, Started: at.Add(-time.Hour)},
		Bonds: []ctl.Bond{{Name: "tbbond0", Kind: "tap", Peers: []string{"node2"}, MTU: 65520 - 256, MaxPacket: 65535,
			Carrier: true, Addresses: []string{"fe80::1111/64"}, RateBPS: 30e9}},
		Peers: []ctl.Peer{{UUID: uuid2, Name: "node2", State: ctl.PeerConnected, Addresses: []string{"fe80::2222"},
			Rails: []string{"tbr0", "tbr1", "tbr2", "tbr3"}, RateBPS: 30e9, RTTNS: 40_000, Retransmit: true,
			Flow: ctl.FlowCounters{TxPackets: 1000, TxBytes: 64e6, RxPackets: 900, RxBytes: 57e6, RxReordered: 12}}},
		Rails: []ctl.Rail{
			sampleRail("tbr0", "thunderbolt0", uuid2, at, 10e9, 0),
			sampleRail("tbr1", "thunderbolt1", uuid2, at, 10e9, 2_000),
			sampleRail("tbr2", "thunderbolt2", uuid2, at, 10e9, 30_000),
			downRail(sampleRail("tbr3", "thunderbolt3", uuid2, at, 10e9, 0)),
			{Name: "eth1", Device: "eth1", State: ctl.RailUnpaired, Reason: "no tbnet2 host answers", Enabled: true, Carrier: true, Simulated: true, MTU: 1500},
		},
		Drops:    []ctl.Drop{{Reason: "bad_crc", Count: 3}, {Reason: "window", Count: 0}},
		Warnings: []ctl.Warning{{Code: "rail_down", Message: "rail tbr3 to node2 is down: no carrier"}},
	}
}

func sampleRail(name, device, uuid string, at time.Time, rate uint64, delay int64) ctl.Rail {
	return ctl.Rail{Name: name, Device: device, Peer: "node2", PeerUUID: uuid, State: ctl.RailUp, Enabled: true, InUse: true,
		Carrier: true, Simulated: true, MTU: 65520, PeerMTU: 65520, LinkBPS: 20e9, RateBPS: rate, DelayNS: delay, RTTNS: 40_000 + 2*delay,
		Since:    at.Add(-time.Minute),
		Counters: ctl.RailCounters{TxFrames: 250, TxBytes: 16e6, RxFrames: 225, RxBytes: 14e6}}
}

func downRail(r ctl.Rail) ctl.Rail {
	r.State, r.Reason, r.Carrier, r.InUse = ctl.RailDown, "no carrier", false, true
	r.RateBPS = 0
	r.Counters.Flaps = 1
	return r
}
