// SPDX-License-Identifier: Apache-2.0

//go:build !sabotage_resequence

package transport

// sabotageResequence breaks the core on purpose, to prove that its tests can fail.
const sabotageResequence = false
