#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The shell's lab: hosts a and b, joined by a veth pair.
. /lib.sh
hosts
echo "two hosts: 'ip netns exec a sh', 'ip netns exec b sh'; va 10.0.0.1, vb 10.0.0.2"
[ ! -e /m/tbsim.ko ] || echo "simulated Thunderbolt: insmod /m/tbsim.ko; insmod /m/thunderbolt-net.ko"
