// SPDX-License-Identifier: Apache-2.0

// Package ctl is the one model of what tbnet2 shows and takes orders about:
// hosts, peers, rails, bonds, counters and events. Backend is what a program
// that carries traffic offers; the daemon's is served over a unix socket by
// Server and reached by Client, in versioned JSON lines:
//
//	{"v":1,"id":7,"op":"status"}
//	{"v":1,"id":7,"ok":{...}}
//	{"v":1,"id":7,"error":{"code":"not_found","message":"..."}}
//
// A call that reports as it goes answers with "event" lines before its "ok".
// Everyone may read; only root and the daemon's own user and group may change
// something. Package ctlfake has a Backend in memory for tests.
package ctl

// SchemaVersion is the version of every JSON document made from this model.
// Adding a field keeps it; renaming or removing one raises it.
const SchemaVersion = 1

// Version of the programs of this repository.
const Version = "0.1.0"
