#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Generates test/vectors/layout.json and frames.txt from the C header; with
# --check, compares them with what is committed.
set -euo pipefail
cd "$(dirname "$0")/.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for name in layout.json frames.txt; do
	gcc -std=gnu11 -Wall -Wextra -Werror -I kmod/tbnet2/uapi -o "$dir/gen" "test/vectors/gen/${name%.*}.c"
	"$dir/gen" >"$dir/$name"
	if [ "${1:-}" = --check ]; then
		diff -u "test/vectors/$name" "$dir/$name" || { echo "$name differs: run make vectors and commit" >&2; exit 1; }
	else
		cp "$dir/$name" "test/vectors/$name"
	fi
done
if [ "${1:-}" = --check ]; then
	echo "2 passed, 0 failed"
fi
