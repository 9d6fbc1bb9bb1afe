// SPDX-License-Identifier: Apache-2.0

// Package script reads the scripts of test/vectors/scripts, whose README tells
// their form, and plays them against the Go core.
package script
