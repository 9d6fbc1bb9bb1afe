#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Proves that tests can fail. Each line of the table names a build tag that
# breaks the code, a package and the tests that must then be red: they have to
# exist, to pass without the tag, to build with it, and to fail with it.
set -euo pipefail
cd "$(dirname "$0")/.."
table=$1
count=0
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
while read -r tag pkg tests; do
	case $tag in '' | '#'*) continue ;; esac
	if [ -z "$(go test -list "${tests%%/*}" "$pkg" | grep '^Test' || true)" ]; then
		echo "$tag: no test matches $tests in $pkg" >&2
		exit 1
	fi
	go test -count=1 -run "$tests" "$pkg" >"$bin/log" 2>&1 || {
		cat "$bin/log"
		echo "$tag: $tests fails without the sabotage" >&2
		exit 1
	}
	go test -c -tags "$tag" -o "$bin/test" "$pkg" # a compile error is no red test
	if (cd "$pkg" && timeout 120 "$bin/test" -test.run "$tests" -test.timeout 100s) >"$bin/log" 2>&1; then
		echo "$tag: $tests in $pkg passes though the code is broken" >&2
		exit 1
	fi
	# Red must mean a failed test, not a missing binary or the like.
	grep -qE -- '--- FAIL|panic: ' "$bin/log" || { cat "$bin/log"; echo "$tag: no failed test" >&2; exit 1; }
	echo "red as it must be: $tag $pkg $tests"
	count=$((count + 1))
done <"$table"
if [ $count -eq 0 ]; then
	echo "$table names no sabotage" >&2
	exit 1
fi
echo "$count passed, 0 failed"
