#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every fuzz target of the module for the given time (20s), one on each
# core. A target that fails leaves its input in testdata/fuzz, to be kept.
set -euo pipefail
cd "$(dirname "$0")/.."

# one TIME PACKAGE TARGET prints what the target said, at once when it ends.
if [ "${1:-}" = --one ]; then
	for try in 1 2; do
		status=0
		said=$(go test -run '^$' -fuzz "^$4\$" -fuzztime "$2" -parallel 1 "$3" 2>&1) || status=$?
		# On a busy machine go test may end a target in the midst of an input and
		# call that a failure; a failure of the target has an input.
		if [ "$status" -eq 0 ] || [ $try -eq 2 ] || ! grep -q 'context deadline exceeded' <<<"$said" ||
			grep -qE 'Failing input written|failure while testing seed' <<<"$said"; then
			break
		fi
	done
	if [ "$status" -eq 0 ]; then
		said=$(grep -E '^ok|execs:' <<<"$said" | tail -n 2)
	fi
	printf 'fuzz %s %s\n%s\n' "$3" "$4" "$said"
	exit "$status"
fi

time=${1:-20s}
packages=$(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Dir}}{{end}}' ./...)
targets=()
while read -r pkg dir; do
	grep -qs '^func Fuzz' "$dir"/*_test.go || continue # listing builds the package's tests
	listed=$(go test -list '^Fuzz' "$pkg")             # fails the script where it does not build
	for target in $listed; do
		case $target in Fuzz*) targets+=("$time" "$pkg" "$target") ;; esac
	done
done <<<"$packages"
count=$((${#targets[@]} / 3))
if [ $count -eq 0 ]; then
	echo "no fuzz target found" >&2
	exit 1
fi
echo "$count fuzz targets, $time each, $(nproc) at a time"
if ! printf '%s\n' "${targets[@]}" | xargs -n 3 -P "$(nproc)" "$0" --one; then
	echo "a fuzz target failed: keep its input, written to testdata/fuzz" >&2
	exit 1
fi
echo "$count passed, 0 failed"
