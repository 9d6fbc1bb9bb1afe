#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every fuzz target of the module for the given time (20s). A target that
# fails leaves its input in testdata/fuzz, to be kept.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-20s}
passed=0
failed=0
start=$SECONDS
packages=$(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./...)
# Only where the word is: listing builds the package's tests.
for pkg in $packages; do
	grep -qs '^func Fuzz' "$(go list -f '{{.Dir}}' "$pkg")"/*_test.go || continue
	listed=$(go test -list '^Fuzz' "$pkg") # fails the script where it does not build
	for target in $listed; do
		case $target in Fuzz*) ;; *) continue ;; esac
		echo "fuzz $pkg $target for $time"
		if go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$pkg"; then
			passed=$((passed + 1))
		else
			failed=$((failed + 1))
		fi
		echo "fuzz: $((passed + failed)) targets in $((SECONDS - start)) s"
	done
done
if [ $((passed + failed)) -eq 0 ]; then
	echo "no fuzz target found" >&2
	exit 1
fi
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
