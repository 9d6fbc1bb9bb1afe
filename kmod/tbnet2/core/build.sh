#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
# Builds the core alone as a module into OUT, to see that it builds as kernel
# code; nothing loads it. Arguments behind OUT are make's (W=1, C=2).
#
#   KERNEL_HEADERS=... kmod/tbnet2/core/build.sh OUT W=1
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
: "${KERNEL_HEADERS:?}"
out=${1:?usage: build.sh OUT}
shift
mkdir -p "$out/core" "$out/uapi"
out=$(cd "$out" && pwd)
cp "$here"/*.[ch] "$out/core/"
cp "$here"/../uapi/tbnet2_wire.h "$out/uapi/"
printf '#include <linux/module.h>\nMODULE_DESCRIPTION("tbnet2 core, alone");\nMODULE_LICENSE("Dual BSD/GPL");\n' >"$out/alone.c"
{
	echo 'obj-m := tbnet2_core.o'
	echo 'tbnet2_core-y := alone.o'
	cat "$here/objects.mk"
	# shellcheck disable=SC2016 # make's
	echo 'tbnet2_core-y += $(tbnet2-core)'
} >"$out/Kbuild"
make -s -C "$KERNEL_HEADERS" M="$out" "$@" modules
