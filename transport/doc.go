// SPDX-License-Identifier: Apache-2.0

// Package transport is the Go core of the tbnet2 protocol (docs/protocol.md):
// striping, resequencing, acknowledgement, flow control and liveness for one
// association, and the handshake that makes associations.
//
// It has no clock, lock, socket or goroutine. The caller passes bytes and the
// time, and sends what comes out. All arithmetic is on integers, so that the
// C core in kmod/tbnet2/core takes the same action at each step.
//
// An Association has two halves that share nothing but the Ack that the
// Receiver hands to the Sender, so that a caller may guard each with a lock of
// its own.
package transport
