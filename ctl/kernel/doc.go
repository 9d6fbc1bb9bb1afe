// SPDX-License-Identifier: Apache-2.0

// Package kernel is the ctl.Backend of the kernel module: the generic netlink
// family "tbnet2" of kmod/tbnet2/uapi/tbnet2_ctl.h for what the module alone
// knows, and rtnetlink for what every network device has (names, MTU, carrier,
// addresses).
//
// It speaks of the network namespace of the process.
package kernel
