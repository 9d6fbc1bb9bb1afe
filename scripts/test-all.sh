#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every step of the table below, keeps its log in build/logs, and prints
# how long each took. A failed step fails the whole; the others still run,
# unless what they need is missing. With names, runs only those steps.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

# name | command; a step that runs longer than limit is ended and has failed
limit=20m
steps() {
	cat <<'TABLE'
deps      | scripts/deps.sh
lint      | make -s lint
build     | make -s build
vectors   | scripts/vectors.sh --check
race      | make -s race
allocs    | make -s allocs
netns     | make -s netns
schedules | make -s schedules
sabotage  | make -s sabotage
fuzz      | make -s fuzz
demo      | make -s demo
demo-user | scripts/demo-user.sh
bench     | make -s bench-core bench-relay
bench-net | make -s bench-short
faults    | make -s faults
TABLE
}

for name in "$@"; do
	steps | grep -q "^$name " || { echo "no step is called $name; there are: $(steps | cut -d ' ' -f 1 | xargs)" >&2; exit 2; }
done

mkdir -p build/logs
passed=0
failed=()
summary=""
begin=$SECONDS
while IFS='|' read -r name command; do
	name=${name// /}
	if [ $# -gt 0 ] && [[ " $* " != *" $name "* ]]; then
		continue
	fi
	log=build/logs/$name.log
	echo "== $name"
	start=$SECONDS
	if timeout -k 30 "$limit" bash -c "$command" >"$log" 2>&1 </dev/null; then
		verdict=ok
		passed=$((passed + 1))
		# The tests' own lines.
		grep -E '^(ok|---|PASS)|^[0-9]+ passed' "$log" || tail -n 15 "$log"
	else
		verdict=FAILED
		failed+=("$name")
		grep -nE '^ *--- FAIL|^panic: |^FAIL' "$log" | head -n 50
		tail -n 200 "$log"
	fi
	summary+=$(printf '%-10s %-7s %5d s' "$name" "$verdict" $((SECONDS - start)))$'\n'
	if [ "$name" = deps ] && [ $verdict = FAILED ]; then
		break
	fi
done < <(steps)

echo "== summary"
printf '%s' "$summary"
echo "total $((SECONDS - begin)) s, logs in build/logs"
[ ${#failed[@]} -eq 0 ] || echo "failed: ${failed[*]}"
echo "steps: $passed passed, ${#failed[@]} failed"
[ ${#failed[@]} -eq 0 ]
