#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every step of the table below, keeps its log in build/logs, and prints
# how long each took. A failed step fails the whole; the others still run.
set -uo pipefail
cd "$(dirname "$0")/.."

# name | command
steps() {
	cat <<'TABLE'
deps      | scripts/deps.sh
lint      | make -s lint
build     | make -s build
vectors   | scripts/vectors.sh --check
race      | make -s race
netns     | make -s netns
schedules | make -s schedules
sabotage  | make -s sabotage
fuzz      | make -s fuzz
demo      | make -s demo
demo-user | scripts/demo-user.sh
bench     | make -s bench-core
TABLE
}

mkdir -p build/logs
failed=()
summary=""
begin=$SECONDS
while IFS='|' read -r name command; do
	name=${name// /}
	log=build/logs/$name.log
	echo "== $name"
	start=$SECONDS
	if bash -c "$command" >"$log" 2>&1 </dev/null; then
		verdict=ok
	else
		verdict=FAILED
		failed+=("$name")
	fi
	# The tests' own lines, and all of it where something failed.
	if [ $verdict = ok ]; then
		grep -E '^(ok|FAIL|---|PASS)|^[0-9]+ passed' "$log" || tail -n 15 "$log"
	else
		tail -n 200 "$log"
	fi
	summary+=$(printf '%-10s %-7s %5d s' "$name" "$verdict" $((SECONDS - start)))$'\n'
done < <(steps)

echo "== summary"
printf '%s' "$summary"
echo "total $((SECONDS - begin)) s"
if [ ${#failed[@]} -gt 0 ]; then
	echo "failed: ${failed[*]} (logs in build/logs)"
	exit 1
fi
