#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every fuzz target of the module for the given time (20s).
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-20s}
count=0
for pkg in $(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./...); do
	for target in $(go test -list '^Fuzz' "$pkg" | grep '^Fuzz' || true); do
		echo "fuzz $pkg $target $time"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$pkg"
		count=$((count + 1))
	done
done
if [ $count -eq 0 ]; then
	echo "no fuzz target found" >&2
	exit 1
fi
echo "$count passed, 0 failed"
