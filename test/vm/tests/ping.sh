#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# vm-modules: veth
# Two hosts reach each other, also with packets that are cut into fragments, and
# no longer once the cable is out.
. /lib.sh
hosts
ip netns exec a ping -c 20 -i 0.05 -W 5 10.0.0.2 | tee /tmp/out
grep -q ' 20 received' /tmp/out || fail "pings lost"
ip netns exec a ping -c 3 -i 0.2 -W 5 -s 20000 10.0.0.2 | grep -q ' 3 received' || fail "large pings lost"
ip -n b link set vb down
! ip netns exec a ping -c 1 -W 1 10.0.0.2 || fail "an answer without a cable"
