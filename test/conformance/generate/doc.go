// SPDX-License-Identifier: Apache-2.0

// Package generate makes scripts from seeds: one end of an association whose
// other end, links and application are simulated, with frames that are lost,
// late, damaged or forged among the honest ones. What the Go core does at each
// step comes with it.
package generate
