#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the debug kernel (KASAN, lockdep, kmemleak) from Debian's 6.12 source
# package and test/vm/debug.config, once: it stays in the cache, named by source
# version and configuration. Takes 12 to 17 minutes on 2 cores. Prints what
# kernel-packages.sh prints, with KERNEL_IMAGE an uncompressed vmlinux.
set -euo pipefail
cd "$(dirname "$0")/.."
cache=${TBNET2_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tbnet2}
recipe=1 # raise this when build() changes
fragment=test/vm/debug.config

die() {
	echo "debug-kernel: $*" >&2
	exit 1
}

# configure TREE makes .config, and fails if an option of the fragment got lost.
configure() {
	local line lost=()
	make -s -C "$1" tinyconfig >/dev/null
	(cd "$1" && scripts/kconfig/merge_config.sh -m .config "$OLDPWD/$fragment") >/dev/null
	make -s -C "$1" olddefconfig >/dev/null
	while read -r line; do
		case $line in
		CONFIG_*) grep -qxF -- "$line" "$1/.config" || lost+=("$line") ;;
		'# CONFIG_'*' is not set') ! grep -q "^$(cut -d ' ' -f 2 <<<"$line")=" "$1/.config" || lost+=("$line") ;;
		esac
	done <"$fragment"
	[ ${#lost[@]} -eq 0 ] || die "Kconfig dropped from $fragment: ${lost[*]}"
}

# build TREE DIR leaves vmlinux, lib/modules and what module builds need in DIR.
build() {
	make -s -C "$1" -j "$(nproc)" vmlinux modules
	make -s -C "$1" modules_install INSTALL_MOD_PATH="$2"
	cp "$1/vmlinux" "$2/vmlinux"
	rm -f "$2"/lib/modules/*/{build,source}
	# Of the tree keep what modules are built with, as Debian's headers do.
	find "$1" \( -name '*.o' -o -name '*.a' -o -name '.*.cmd' \) ! -path '*/scripts/*' ! -path '*/tools/*' -delete
	(cd "$1" && rm -rf vmlinux* drivers fs sound net Documentation mm block crypto ipc samples security virt rust io_uring
		find arch -mindepth 1 -maxdepth 1 ! -name x86 ! -name Kconfig -exec rm -rf {} +)
	mv "$1" "$2/tree"
}

main() {
	local key dir tmp work top
	eval "$(scripts/kernel-packages.sh 6.12)"
	key=$(printf '%s\n' "$recipe" "$KERNEL_SOURCE" "$(sha256sum <"$fragment")" "$(gcc -dumpfullversion)" | sha256sum | cut -c 1-16)
	dir=$cache/debug-6.12-$key
	exec 9>"$cache/lock-debug"
	flock 9
	if ! { [ -f "$dir/SHA256SUMS" ] && (cd "$dir" && sha256sum --check --status SHA256SUMS); }; then
		echo "debug-kernel: building, this takes a while" >&2
		work=$(mktemp -d "$cache/debug.XXXXXX")
		tmp=$work/out
		mkdir "$tmp"
		tar -x -C "$work" -f "$KERNEL_SOURCE"
		top=$work/$(basename "$KERNEL_SOURCE" .tar.xz)
		configure "$top"
		build "$top" "$tmp"
		(cd "$tmp" && find . -type f -print0 | sort -z | xargs -0 sha256sum) >"$work/sums"
		mv "$work/sums" "$tmp/SHA256SUMS"
		rm -rf "$dir"
		mv -T "$tmp" "$dir"
		rm -rf "$work"
	fi
	printf '%s=%q\n' KERNEL_RELEASE "$(ls "$dir/lib/modules")" KERNEL_VERSION "$KERNEL_VERSION" \
		KERNEL_IMAGE "$dir/vmlinux" KERNEL_MODULES "$dir" KERNEL_HEADERS "$dir/tree" KERNEL_SOURCE "$KERNEL_SOURCE"
}

[ $# -eq 0 ] || die "usage: debug-kernel.sh"
main
