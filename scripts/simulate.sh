#!/usr/bin/env bash
# Runs the library in the simulation on all processors, one run for each seed and
# profile. Prints its progress, and for every run that broke a promise the timeline and
# the command that repeats it.
#
#   SEEDS     how many seeds of each profile (100)
#   FROM      the first seed (0)
#   PROFILES  some of the profiles, separated by commas (all)
#   TIMELINE=1  print what happens in every run, to study one seed
#   RACE=1    under the race detector, which takes five times as long
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

cd "$ROOT/test/proof"
need_go
flags=()
if [ "${RACE:-}" = 1 ]; then
	ensure_race || die "the race detector cannot run here"
	flags+=(-race)
fi
args=(-seeds "${SEEDS:-100}" -from "${FROM:-0}" -progress)
[ -z "${PROFILES:-}" ] || args+=(-profiles "$PROFILES")
[ "${TIMELINE:-}" != 1 ] || args+=(-timeline)
exec go test "${flags[@]}" -count 1 -timeout 0 -v -run '^TestSeeds$' ./sim "${args[@]}"
