// SPDX-License-Identifier: Apache-2.0

// Package verbs is an RDMA engine over a fabric: devices, protection domains,
// memory regions, completion queues and queue pairs as the InfiniBand
// specification has them, without a kernel module. Every work request is cut
// into packets that fill one frame each, so it uses all rails to the peer at
// once; each packet says where it goes and is placed when it comes, and
// completions come in order (docs/verbs-protocol.md).
//
// One lock per Device guards all its objects. It is taken after the fabric's
// receive lock and before its send lock; what the transport calls back under
// its send lock (doneList) never takes it.
package verbs
