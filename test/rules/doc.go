// SPDX-License-Identifier: Apache-2.0

// Package rules holds the tree to the project's own rules: formatting, SPDX
// lines, file sizes, allowed imports, no floats in the core. Each rule is a
// function that is also run on a bad sample, so that none passes by not
// looking.
package rules
