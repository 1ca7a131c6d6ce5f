#!/usr/bin/env bash
# Runs the tests on real masters, including the fault matrix, and prints its table.
#
#   scripts/integration.sh        all tests of test/integration, by scripts/test.sh
#   scripts/integration.sh soak   random faults, on all kinds of locks
#
#   RECORD=1     writes the table of the matrix into docs/project/faults.md
#   LONG=1       rows about load run as long as their text says: some minutes longer
#   MINUTES      how long the soak runs (10)
#   SEED         the seed of the soak (a random one, which is printed)
#   and the variables of scripts/test.sh
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

export REDQUORUM_FAULTS_DOC=${RECORD:-} REDQUORUM_FAULTS_LONG=${LONG:-}

matrix() {
	[ "${LONG:-}" != 1 ] || export TIMEOUT=${TIMEOUT:-30m}
	MODULES=test/integration "$ROOT/scripts/test.sh"
}

soak() {
	local minutes=${MINUTES:-10} race=()
	case $minutes in
	'' | *[!0-9]* | 0*) die "MINUTES=$minutes: want 1 or more" ;;
	esac
	need_go
	ensure_redis || die "the soak needs real redis-servers"
	if ensure_race; then race=(-race); fi
	export REDQUORUM_SOAK=${minutes}m REDQUORUM_SOAK_SEED=${SEED:-}
	cd "$ROOT/test/integration"
	go test ${race[@]+"${race[@]}"} -v -count=1 -timeout $((minutes + 10))m -run '^TestSoak$' ./faults
}

case ${1:-matrix} in
matrix | soak) "${1:-matrix}" ;;
*) die "usage: scripts/integration.sh [soak]" ;;
esac
