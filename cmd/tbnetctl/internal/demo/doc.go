// SPDX-License-Identifier: Apache-2.0

// Package demo is the project's main job in small: two hosts, four rails over
// two cables of different rate and delay, one TCP connection over all of them,
// a cable pulled half-way and put back, every byte verified. All figures are
// simulated: the cables are package lab's.
package demo
