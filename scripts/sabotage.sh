#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Proves that tests can fail. Each line of the table names a build tag that
# breaks the code, a package and the tests that must then be red: they have to
# exist, to pass without the tag, to build with it, and to fail with it. Before
# that the script is checked itself, on test/sabotage/fixture.
set -euo pipefail
cd "$(dirname "$0")/.."
table=$1
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT

# build TAG PACKAGE prints the path of the package's test binary.
build() {
	local out=$bin/$1${2//\//_}
	[ -e "$out" ] || go test -c -tags "$1" -o "$out" "$2" >&2 || return 1
	[ -e "$out" ] && echo "$out" # a package without tests leaves none
}

# run BINARY PACKAGE TESTS leaves the output in $bin/log.
run() {
	(cd "$2" && timeout 120 "$1" -test.v -test.run "$3" -test.timeout 100s) >"$bin/log" 2>&1
}

# prove TAG PACKAGE TESTS
prove() {
	local tag=$1 pkg=$2 tests=$3 green red ran
	green=$(build none "$pkg") || { echo "$tag: $pkg does not build"; return 1; }
	if ! run "$green" "$pkg" "$tests"; then
		cat "$bin/log"
		echo "$tag: $tests in $pkg fails without the sabotage"
		return 1
	fi
	ran='^--- PASS' # with a /, a subtest must have run
	[ "${tests#*/}" = "$tests" ] || ran='^ +--- PASS'
	if ! grep -qE -- "$ran" "$bin/log"; then
		echo "$tag: no test is $tests in $pkg, or it was skipped"
		return 1
	fi
	red=$(build "$tag" "$pkg") || { echo "$tag: $pkg does not build with the tag: that is no red test"; return 1; }
	if run "$red" "$pkg" "$tests"; then
		echo "$tag: $tests in $pkg passes though the code is broken"
		return 1
	fi
	if ! grep -qE -- '--- FAIL|^panic: ' "$bin/log"; then # red is a failed test, not a missing file or the like
		cat "$bin/log"
		echo "$tag: $tests in $pkg ended without a failed test"
		return 1
	fi
	echo "red as it must be: $tag $pkg $tests"
}

# refused WORDS TAG PACKAGE TESTS: prove must fail, and say why in these words.
refused() {
	local words=$1 said
	shift
	if said=$(prove "$@" 2>&1) || ! grep -qF -- "$words" <<<"$said"; then
		printf 'self-check: %s was not refused by "%s":\n%s\n' "$*" "$words" "$said"
		exit 1
	fi
}

self_check() {
	local pkg=./test/sabotage/fixture
	prove sabotage_fixture_red $pkg '^TestSum$' >/dev/null || { echo "self-check: a red test is not seen"; exit 1; }
	prove sabotage_fixture_red $pkg '^TestSum$/^numbers$' >/dev/null || { echo "self-check: a red subtest is not seen"; exit 1; }
	refused "passes though" sabotage_fixture_none $pkg '^TestSum$'
	refused "does not build with" sabotage_fixture_broken $pkg '^TestSum$'
	refused "no test is" sabotage_fixture_red $pkg '^TestProduct$'
	refused "no test is" sabotage_fixture_red $pkg '^TestSum$/^letters$'
	echo "self-check: ok"
}

self_check
passed=0
failed=0
while read -r tag pkg tests; do
	case $tag in '' | '#'*) continue ;; esac
	if prove "$tag" "$pkg" "$tests"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
	fi
done <"$table"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
