#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the demo as an ordinary user: nobody, where we are root.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ "$(id -u)" -ne 0 ]; then
	exec build/bin/tbnetctl demo
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
install -m 0755 build/bin/tbnetctl "$dir/tbnetctl"
chmod 0777 "$dir"
su nobody -s /bin/sh -c "cd $dir && ./tbnetctl demo --out $dir/demo.json"
su nobody -s /bin/sh -c "cd $dir && ./tbnetctl demo --mode memory --out $dir/memory.json"
for report in demo memory; do
	python3 - "$dir/$report.json" <<'PY'
import json, sys
r = json.load(open(sys.argv[1]))
assert r["sha256_sent"] == r["sha256_received"] and r["bytes"] >= 256 << 20, r
assert r["uid"] != 0 and r["stall_ms"] <= 300, r
print("demo as uid %(uid)d, mode %(mode)s: hash equal, stall %(stall_ms).0f ms, share %(share_pct).1f %%" % r)
PY
done
