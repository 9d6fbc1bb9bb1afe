// SPDX-License-Identifier: Apache-2.0

// Package fabric joins the transport to rail devices: it finds peers, makes
// bundles of the rails to each, keeps the timers and the goroutines, and gives
// outlets a Port that carries Ethernet frames.
//
// One goroutine per device receives, one per fabric keeps time, one per busy
// device waits for room. Locks are taken in this order: Fabric.mu, peer.recv,
// peer.send, device.send. Deliveries run under peer.recv, which keeps their
// order, and under Port's own lock, which makes them one at a time.
package fabric
