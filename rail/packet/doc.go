// SPDX-License-Identifier: Apache-2.0

// Package packet makes a rail device of any Ethernet device, by AF_PACKET:
// frames of our EtherType come through a mapped ring of fixed slots (no block
// timer delays them), and go out in batches of one system call. The device's
// ordinary traffic is not touched.
//
// A frame takes a whole slot whatever its size, so many small frames can
// overflow the ring before its bytes are used up; that is counted
// (Stats.RxDropped) and heals as any loss does.
package packet
