#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Builds trip.ko into OUT:  KERNEL_HEADERS=... kmod/trip/build.sh OUT
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
: "${KERNEL_HEADERS:?}"
out=${1:?usage: build.sh OUT}
mkdir -p "$out"
cp "$here/trip.c" "$here/Kbuild" "$out/"
make -s -C "$KERNEL_HEADERS" M="$(cd "$out" && pwd)" modules
