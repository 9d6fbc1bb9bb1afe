// SPDX-License-Identifier: Apache-2.0

//go:build sabotage_window

package transport

// sabotageWindow breaks the core on purpose, to prove that its tests can fail.
const sabotageWindow = true
