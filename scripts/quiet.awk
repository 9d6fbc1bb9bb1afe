# SPDX-License-Identifier: Apache-2.0
# Reads `go test -v` and prints, of packages that passed, their last line and
# what they skipped and why; of others, everything.
/^ok  |^\?   / { print; fflush(); text = ""; next }
/^FAIL\t/ { printf "%s", text; print; fflush(); text = ""; next }
/_test\.go:[0-9]+: needs / { reason = $0; sub(/.*_test\.go:[0-9]+: /, "", reason) }
/^ *--- SKIP: / { print "--- SKIP: " $3 ": " reason; reason = "" }
{ text = text $0 "\n" }
END { if (text !~ /^(FAIL\n)?$/) printf "%s", text }
