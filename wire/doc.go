// SPDX-License-Identifier: Apache-2.0

// Package wire is the Go mirror of kmod/tbnet2/uapi/tbnet2_wire.h.
package wire
