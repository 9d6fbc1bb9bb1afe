// SPDX-License-Identifier: Apache-2.0

// Command vm boots Debian's kernels, and our debug kernel, under QEMU without
// hardware virtualization, and runs the tests of test/vm/tests in them: one file,
// one test, one boot. README.md says how a test is written.
package main
