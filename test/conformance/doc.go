// SPDX-License-Identifier: Apache-2.0

// Package conformance holds the two cores of the transport to each other: the
// Go one in transport and the C one in kmod/tbnet2/core, which runner builds
// for userspace with the address and undefined behaviour sanitizers.
package conformance
