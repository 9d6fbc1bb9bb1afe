# SPDX-License-Identifier: Apache-2.0
# Reads `go test -v` and prints, of packages that passed, only their last line
# and what they skipped and why; of others, everything.
/^ok  |^\?   / { print; fflush(); text = ""; split("", said); next }
/^FAIL\t/ { printf "%s", text; print; fflush(); text = ""; split("", said); next }
/^=== (RUN|CONT|NAME) / { test = $3 }
/^ +[A-Za-z0-9_]+\.go:[0-9]+: / { said[test] = $0; sub(/^ +[A-Za-z0-9_]+\.go:[0-9]+: /, "", said[test]) }
/^ *--- SKIP: / { print "--- SKIP: " $3 ": " said[$3] }
{ text = text $0 "\n" }
END { if (text !~ /^(FAIL\n)?$/) printf "%s", text }
