// SPDX-License-Identifier: Apache-2.0

// Package daemon is `tbnetctl daemon`: it opens the rails that the
// configuration names, runs the fabric over them, an outlet for programs (a
// network device or a TCP/IP stack of its own), the control socket and the
// bench service that peers measure against.
//
// Run starts everything, and stops and awaits everything before it returns.
// Each part has one owner, the daemon, which stops it in the reverse order of
// its start.
package daemon
