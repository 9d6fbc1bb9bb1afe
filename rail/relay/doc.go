// SPDX-License-Identifier: Apache-2.0

// Package relay is a cable between two Ethernet devices: it passes every frame
// from one to the other, of whatever EtherType, and applies the seeded link
// model of package model to each direction. It is for veth ends in a namespace
// of the lab's; figures measured through it are simulated.
//
// Superpackets and frames without a checksum cross as they are: the kernel's
// virtio_net_hdr goes along. Times are kept to about 100 us, which is what the
// runtime's timers give; rates hold on the average.
package relay
