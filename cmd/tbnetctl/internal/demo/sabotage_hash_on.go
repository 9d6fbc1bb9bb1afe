// SPDX-License-Identifier: Apache-2.0

//go:build sabotage_hash

package demo

// sabotageHash breaks the comparison of hashes on purpose, to prove that its
// test can fail.
const sabotageHash = true
