#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Builds tbsim.ko into OUT: copies the kernel's own Thunderbolt sources out of
# KERNEL_SOURCE (linux-source-*.tar.xz), builds them with ours against
# KERNEL_HEADERS, and holds the CRC of every exported symbol to the stock module's.
#
#   KERNEL_HEADERS=... KERNEL_SOURCE=... kmod/tbsim/build.sh OUT
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
: "${KERNEL_HEADERS:?}" "${KERNEL_SOURCE:?}"
out=${1:?usage: build.sh OUT}
mkdir -p "$out"
out=$(cd "$out" && pwd)

# What is copied, and never committed.
kernel=(nhi.c ctl.c xdomain.c property.c nhi.h nhi_regs.h ctl.h tb.h tb_regs.h tb_msgs.h dma_port.h trace.h)
top=$(basename "$KERNEL_SOURCE" .tar.xz)
xz -dc "$KERNEL_SOURCE" | tar -x -C "$out" --strip-components=3 --wildcards "$top/drivers/thunderbolt/*.[ch]"
for file in "$out"/*.[ch]; do
	[[ " ${kernel[*]} " == *" $(basename "$file") "* ]] || rm "$file"
done
cp "$here"/*.[ch] "$here/Kbuild" "$out/"

# Features are read from the sources, not from version numbers.
header=$(find -L "$KERNEL_HEADERS" "${KERNEL_HEADERS%-*}-common" -maxdepth 3 -path '*include/linux/thunderbolt.h' -print -quit)
flags=
grep -q 'tb_ctl_alloc(struct tb_nhi \*nhi, int index' "$out/ctl.h" && flags+=' -DTBSIM_CTL_INDEX'
grep -q 'const struct bus_type tb_bus_type' "$header" && flags+=' -DTBSIM_CONST=const'
make -s -C "$KERNEL_HEADERS" M="$out" TBSIM_FLAGS="$flags" modules

stock=$(awk '$3 == "drivers/thunderbolt/thunderbolt" { print $1, $2 }' "$KERNEL_HEADERS/Module.symvers" | sort)
ours=$(awk '{ print $1, $2 }' "$out/Module.symvers" | sort)
[ -n "$stock" ] || { echo "no stock Thunderbolt symbols in $KERNEL_HEADERS/Module.symvers" >&2; exit 1; }
if ! diff <(echo "$stock") <(echo "$ours"); then
	echo "exported symbols or their CRCs differ from the stock module's" >&2
	exit 1
fi
echo "tbsim: $(echo "$stock" | wc -l) exported symbols, CRCs equal the stock module's"
