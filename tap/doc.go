// SPDX-License-Identifier: Apache-2.0

// Package tap is the outlet for unmodified programs on a kernel without our
// module: a TAP netdev over a fabric.Port, so that `ip link` shows a bond and
// the kernel's own TCP uses all rails.
//
// The device is opened with virtio_net headers and all TCP offloads, so the
// kernel hands over superpackets of up to 64 KiB with their checksum still to
// be made, whatever the MTU; they cross the fabric as they are, and the other
// host's TAP or userstack takes them whole.
//
// What a user sees:
//   - Carrier follows the port's peers. Losing every peer drops the carrier
//     and nothing else: ifindex, addresses, routes and memberships stay.
//   - A persistent device outlives the process without carrier, and the next
//     Open takes it over with everything that hangs on it.
//   - The MTU comes up at 65520 bytes, the most that ThunderboltIP's users
//     know, or less where the fabric's largest packet asks for it. TCP agrees
//     on the smaller MTU of both ends by itself, and a TAP takes frames above its own
//     MTU, so ends may differ. A change by an administrator is kept, within
//     what the fabric carries.
//   - gso_max_size follows the fabric's largest packet, so that a superpacket
//     and its header are one packet of the transport. Both follow when the
//     port has kept to a size for a second.
//
// A full port stops the reading of the device: frames then wait in its
// ring (txqueuelen frames), and what that cannot hold the kernel counts as
// tx_dropped, which Stats shows.
package tap
