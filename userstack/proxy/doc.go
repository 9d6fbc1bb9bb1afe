// SPDX-License-Identifier: Apache-2.0

// Package proxy lets unmodified programs into a userspace stack: a SOCKS5
// server on the host (CONNECT and UDP ASSOCIATE) and port forwards both ways,
// TCP and UDP. It knows neither gVisor nor fabrics, only the two interfaces
// Dialer and Network, which userstack's stack and Host (the kernel's sockets) satisfy.
//
// A half-closed connection stays half closed at the other side. A connection
// that breaks off is broken off there too (reset, where the other side's
// socket can), never ended as if it were complete. Connections and UDP
// sessions are bounded; what is refused or dropped is counted.
package proxy
