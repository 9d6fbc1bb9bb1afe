#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# vm-modules: veth
# iperf3 carries 64 MiB over veth, and a hash of 16 MiB is the same at both ends.
. /lib.sh
hosts
ip netns exec b iperf3 -s -1 -D
within 10 sh -c "ip netns exec b busybox netstat -ltn | grep -q ':5201 '" || fail "iperf3 does not listen"
ip netns exec a iperf3 -c 10.0.0.2 -n 64M -J >/tmp/json || fail "iperf3 failed"
grep -A 8 '"sum_received"' /tmp/json | grep -q '"bytes":[[:space:]]*6[67][0-9]\{6\},' || { cat /tmp/json; fail "bytes are missing"; }

dd if=/dev/urandom of=/tmp/sent bs=1M count=16 2>/dev/null
ip netns exec b nc -l -p 7000 >/tmp/received &
within 10 sh -c "ip netns exec b busybox netstat -ltn | grep -q ':7000 '" || fail "nc does not listen"
ip netns exec a nc -w 20 10.0.0.2 7000 </tmp/sent
wait
cmp /tmp/sent /tmp/received || fail "the bytes differ"
