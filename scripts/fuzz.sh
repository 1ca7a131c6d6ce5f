#!/usr/bin/env bash
# Fuzzes every fuzz target of the root module, one after the other. The go command
# keeps a failing input under the package's testdata/fuzz. Commit it with the fix:
# from then on `make test` runs it.
#
#   FUZZTIME     how long to fuzz each target (20s)
#   FUZZ         which targets, a regular expression (.)
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_go
cd "$ROOT"

# go test -list prints the targets of a package, then a line that names it.
listed=$(go test -list '^Fuzz' ./...) || die "the tests do not build: $listed"
targets=$(awk -v wanted="${FUZZ:-.}" '
	/^Fuzz/ { if ($1 ~ wanted) found[++n] = $1; next }
	$1 == "ok" { for (i = 1; i <= n; i++) print $2, found[i] }
	{ n = 0 }' <<<"$listed")
[ -n "$targets" ] || die "no fuzz target matches ${FUZZ:-.}"

failed=
while read -r package target; do
	say "== $target in $package, ${FUZZTIME:-20s}"
	go test -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZTIME:-20s}" "$package" ||
		failed="$failed
  $target in $package"
done <<<"$targets"

[ -z "$failed" ] || die "fuzzing failed:$failed"
