#!/usr/bin/env bash
# Runs the benchmarks of the bench module against real redis-servers.
#
#   scripts/bench.sh         all of them, with benchstat's summary and the tables of
#                            bench/cmd/report; the raw output is kept in
#                            bench/results/latest.txt
#   scripts/bench.sh check   the most important ones, for a minute, compared with the
#                            bounds in bench/bounds.json; fails if a bound is not kept,
#                            and writes nothing
#
#   BENCH            which benchmarks to run, a regular expression (.)
#   COUNT            repetitions; benchstat wants 6 or more (6; check: 3)
#   BENCHTIME        duration or iterations of each run (500ms; check: 300ms)
#   BASE             a commit: its tree and this one are measured in turn, and benchstat
#                    compares them; the output is kept in bench/results/base.txt
#   HELD_LOCKS, HELD_FOR  of BenchmarkHeld: how many locks (100000), for how long (1m)
#   BENCHSTAT_FLAGS  further flags, such as "-col /lib"
#
# A full run also writes the tables of docs/project/performance.md. A run is full without
# BENCH and BENCHTIME, and with 6 repetitions or more.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# all_times BENCH BENCHTIME COUNT runs the whole set COUNT times. The go command's
# -count would repeat one benchmark before the next. Here the libraries alternate, so
# that a busy machine affects all of them alike. With BASE the two trees alternate too.
all_times() {
	local i
	for ((i = 0; i < $3; i++)); do
		[ -z "${BASE:-}" ] || once "$out/base.test" "$@" >>results/base.txt
		once "$out/bench.test" "$@"
	done
}
once() { "$1" -test.run '^$' -test.bench "$2" -test.benchmem -test.benchtime "$3" -test.timeout 60m; }

# build_base builds the benchmarks of the tree at BASE.
build_base() {
	local tree=$out/base
	git rev-parse -q --verify "$BASE^{commit}" >/dev/null || die "BASE=$BASE is no commit of this repository"
	mkdir "$tree"
	git -C "$ROOT" archive "$BASE" | tar -x -C "$tree"
	(cd "$tree/bench" && go test -c -o "$out/base.test" .) || die "BASE=$BASE: its benchmarks could not be built"
}

check() {
	unset BASE
	all_times '^BenchmarkLockUnlock$/^lib=(redsync|redquorum)$/^goroutines=(16|256)$' "${BENCHTIME:-300ms}" "$count" |
		tee "$out/check.txt"
	# These results are in round trips, which hardly depend on the machine.
	all_times '^BenchmarkDistance$/^lib=redquorum(-strict)?$/^micros=20000$' 100ms "$count" | tee -a "$out/check.txt"
	say
	"$out/report" -bounds bounds.json "$out/check.txt" ||
		die "a bound of bench/bounds.json is not kept. On a machine that is busy with other things, run it again; if it stays, look for the cause (docs/project/performance.md), or move the bound and say why"
}

measure() {
	# The tables do not need benchstat. Only a comparison with BASE does.
	local benchstat
	benchstat=$("$ROOT/scripts/tool.sh" benchstat) || benchstat=
	[ -n "$benchstat" ] || [ -z "${BASE:-}" ] || die "BASE=$BASE: to compare takes benchstat, which could not be built"

	mkdir -p results
	rm -f results/base.txt
	[ -z "${BASE:-}" ] || build_base
	all_times "${BENCH:-.}" "${BENCHTIME:-500ms}" "$count" | tee results/latest.txt
	say
	if [ -n "$benchstat" ]; then
		# shellcheck disable=SC2086 # BENCHSTAT_FLAGS is a list of words
		"$benchstat" ${BASE:+-ignore go,redsync,redigo,go-redis,redislock,rueidislock} ${BENCHSTAT_FLAGS:-} ${BASE:+results/base.txt} results/latest.txt
	else
		warn "benchstat could not be built: its summary is left out"
	fi
	say
	"$out/report" results/latest.txt
	if [ -z "${BENCH:-}${BENCHTIME:-}" ] && [ "$count" -ge 6 ]; then
		"$out/report" -page "$ROOT/docs/project/performance.md" results/latest.txt
		say
		say "written: the tables of docs/project/performance.md"
	fi
}

need_go
mode=${1:-measure}
case $mode in
measure) count=${COUNT:-6} ;;
check) count=${COUNT:-3} ;;
*) die "usage: scripts/bench.sh [check]" ;;
esac
case $count in
'' | *[!0-9]* | 0*) die "COUNT=$count: want 1 or more" ;;
esac
cd "$ROOT/bench"
ensure_redis || die "the benchmarks measure against real redis-servers"

# Everything is built before anything is measured.
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
trap 'exit 130' INT TERM
go build -o "$out/report" ./cmd/report
go test -c -o "$out/bench.test" .
"$mode"
