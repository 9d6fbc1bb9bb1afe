// SPDX-License-Identifier: Apache-2.0

// Package lab builds hosts, cables, rails and faults on one machine, for
// tests, the demo and `tbnetctl lab`.
//
// A [Topology] says which hosts there are and how cables and switch segments
// join them. [New] builds it in one of three modes: as root every host is a
// network namespace and every rail a veth pair whose middle lies in a namespace
// of its own, where rail/relay applies the link model to real frames; an
// ordinary user gets the same inside a user namespace that [Enter] makes; and
// in memory, where neither is allowed, hosts are only names and rails are
// rail/mem devices with the same link model. [Detect] says which modes this
// machine allows, and why not the others.
//
// [Host.OpenRails] gives rail devices in every mode, so one program runs in all
// three. [Lab.Unplug], [Lab.Plug] and [Lab.Set] are faults at run time.
//
// [Serve] keeps a lab alive behind a unix socket and [Client] talks to it:
// this is what `tbnetctl lab up|down|exec|unplug|plug|set|verify` stand on. The
// state of a served lab is a file with a lock beside its socket, so that what a
// crash left behind is found and removed by [Down].
//
// A program that uses the user namespace, [Serve] or [Host.Command] calls
// [Main] before anything else in its main function (in TestMain for tests):
//
//	func main() {
//		if err := lab.Main(); err != nil {
//			fmt.Fprintln(os.Stderr, err)
//			os.Exit(1)
//		}
//		...
//	}
//
// Everything measured here is simulated, and every report that holds a rate
// says so.
package lab
