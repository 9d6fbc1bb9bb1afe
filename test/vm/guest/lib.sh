# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# What tests source: . /lib.sh

# fail WORDS ends the test.
fail() {
	echo "FAIL: $*"
	exit 1
}

# within SECONDS COMMAND... waits until the command succeeds.
within() {
	left=$(($1 * 10))
	shift
	until "$@" >/dev/null 2>&1; do
		left=$((left - 1))
		[ $left -gt 0 ] || return 1
		sleep 0.1
	done
}

# hosts makes two network namespaces a and b, joined by the veth devices va
# 10.0.0.1 and vb 10.0.0.2.
hosts() {
	ip netns add a && ip netns add b || fail "no namespaces"
	ip link add va netns a type veth peer name vb netns b || fail "no veth"
	for host in a b; do
		[ $host = a ] && address=10.0.0.1 || address=10.0.0.2
		ip -n $host link set lo up
		ip -n $host addr add $address/24 dev v$host
		ip -n $host link set v$host up
	done
	within 10 ip netns exec a ping -c 1 -W 1 10.0.0.2 || fail "a does not reach b"
}
