// SPDX-License-Identifier: Apache-2.0

// Package fabric joins the transport to rail devices: it finds peers, makes
// bundles of the rails to each, keeps the timers and the goroutines, and gives
// outlets a Port that carries Ethernet frames.
//
// A device has a goroutine that receives and one that follows its carrier, and
// while it takes no more frames one that waits for room. A peer has one that
// keeps its time, so that an outlet that is slow with one peer's packets holds
// up no other peer; the fabric has one that keeps the handshake's.
//
// Locks are taken in this order: Fabric.mu, peer.recvMu, port.deliverMu,
// peer.sendMu, then port.mu or device.sendMu. Deliveries run under recvMu,
// which keeps the order of each flow, and under deliverMu, which makes them
// one at a time. So a Port's handler may call its Port, but not the Fabric.
package fabric
