// SPDX-License-Identifier: Apache-2.0

// Package userstack is a TCP/IP host in the program itself: gVisor's netstack
// on a fabric's port. It needs no privilege beyond the rails'. A Stack dials
// and listens like package net.
//
// Packets cross the fabric whole, up to 64 KiB, with their checksums left to
// the offload descriptor: the links have CRCs.
package userstack
