// SPDX-License-Identifier: Apache-2.0

//go:build sabotage_retransmit

package transport

// sabotageRetransmit breaks the core on purpose, to prove that its tests can fail.
const sabotageRetransmit = true
