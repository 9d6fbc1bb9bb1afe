#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what the tests need with apt-get where that exists and we are root;
# else says in one line what to install. Quick where all is there.
set -euo pipefail

# command:package
needs=(gcc:gcc git:git python3:python3 ip:iproute2 nsenter:util-linux iperf3:iperf3 curl:curl ping:iputils-ping
	ethtool:ethtool shellcheck:shellcheck groff:groff-base)
# header:package
headers=(stdlib.h:libc6-dev linux/types.h:linux-libc-dev)

missing=()
for need in "${needs[@]}"; do
	command -v "${need%%:*}" >/dev/null 2>&1 || missing+=("${need##*:}")
done
for need in "${headers[@]}"; do
	[ -e "/usr/include/${need%%:*}" ] || missing+=("${need##*:}")
done
[ ${#missing[@]} -eq 0 ] && exit 0
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
	echo "install these packages first: ${missing[*]}" >&2
	exit 1
fi
echo "installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
