#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The guest boots, has its programs, its clock runs, and both CPUs are there.
. /lib.sh
[ "$(grep -c '^processor' /proc/cpuinfo)" = 2 ] || fail "not 2 CPUs"
before=$(cut -d . -f 1 /proc/uptime)
sleep 1
[ "$(cut -d . -f 1 /proc/uptime)" -gt "$before" ] || fail "the clock stands still"
for program in ip tc ping iperf3 ethtool; do
	case $(command -v $program) in /usr/bin/*) ;; *) fail "$program is busybox's or missing" ;; esac
done
