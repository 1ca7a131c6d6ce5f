#!/usr/bin/env bash
# Runs the benchmarks of the bench module against real redis-servers, and prints
# benchstat's summary and the table of bench/cmd/report. The raw output is kept in
# bench/results/latest.txt.
#
#   BENCH            which benchmarks to run, a regular expression (.)
#   COUNT            repetitions; benchstat wants 6 or more (6)
#   BENCHTIME        duration or iterations of each run (1s)
#   BASE             an earlier output to compare with
#   HELD_LOCKS, HELD_FOR  of BenchmarkHeld: how many locks (100000), for how long (1m)
#   BENCHSTAT_FLAGS  further flags, such as "-col /lib"
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_go
cd "$ROOT/bench"
[ -z "${BASE:-}" ] || [ -r "$BASE" ] || die "BASE=$BASE cannot be read; give an absolute path or one relative to bench/"
[ -z "${BASE:-}" ] || ! [ "$BASE" -ef results/latest.txt ] || die "BASE=$BASE is what this run overwrites; copy it first"
count=${COUNT:-6}
case $count in
'' | *[!0-9]* | 0*) die "COUNT=$count: want 1 or more" ;;
esac
ensure_redis || die "the benchmarks measure against real redis-servers"

# All that has to be built is built before anything is measured. The table does
# not need benchstat, so neither does the run, unless it is asked to compare.
benchstat=$("$ROOT/scripts/tool.sh" benchstat) || benchstat=
[ -n "$benchstat" ] || [ -z "${BASE:-}" ] || die "BASE=$BASE: to compare takes benchstat, which could not be built"
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
trap 'exit 130' INT TERM
go build -o "$out/report" ./cmd/report
go test -c -o "$out/bench.test" .

# The go command's -count would repeat one benchmark before it comes to the next.
# Here the whole set is repeated, so that the libraries alternate and the machine
# treats both alike, however busy it is.
mkdir -p results
for ((i = 0; i < count; i++)); do
	"$out/bench.test" -test.run '^$' -test.bench "${BENCH:-.}" -test.benchmem \
		-test.benchtime "${BENCHTIME:-1s}" -test.timeout 60m
done | tee results/latest.txt

say
if [ -n "$benchstat" ]; then
	# shellcheck disable=SC2086 # BENCHSTAT_FLAGS is a list of words
	"$benchstat" ${BENCHSTAT_FLAGS:-} ${BASE:+"$BASE"} results/latest.txt
else
	warn "benchstat could not be built: its summary is left out"
fi
say
# The table is of the benchmarks that compare libraries.
if grep -qE '^Benchmark(LockUnlock|OneFrozen)' results/latest.txt; then
	"$out/report" results/latest.txt
fi
