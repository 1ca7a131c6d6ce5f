#!/usr/bin/env bash
# Runs the tests of all modules under the race detector, after setting up what
# they need.
#
#   scripts/test.sh        all of them: make test-all
#   scripts/test.sh quick  all except those of test/slow.txt: make test
#   scripts/test.sh slow   only those of test/slow.txt
#
# Prints which part runs, the progress of the compilation, and each package's closing line as
# the package ends. At the end it prints what was left out, the closing lines again, how many
# tests were skipped and why, and which tests failed.
#
#   PKG          packages of the root module to test, and nothing else (./...)
#   MODULES      directories of the modules to test, and nothing else (all)
#   GOTESTFLAGS  further flags of go test, such as "-run Lock -count 3"
#   TIMEOUT      time limit for the tests of a package (25m)
#   RACE=0       without the race detector
#   REDQUORUM_REQUIRE_REDIS=1  fail instead of skipping without redis-server;
#                set automatically once redis-server was found or installed
#   REDQUORUM_TENTH=N  only every tenth mutant and seed of the simulation, from N on
#   REDIS_SERVER the redis-server to test against (the one on the PATH)
#   REDIS_IMAGE  the image for tests in containers (what `make image` builds)
#   NO_INSTALL=1 installs nothing
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# choose_image finds or builds an image for the tests in containers and exports its name as
# REDIS_IMAGE. Returns 1 with the reason in no_containers if no container can run.
choose_image() {
	if ! have docker; then
		no_containers="docker is not installed"
		return 1
	fi
	if ! engine_answers; then
		no_containers="no Docker engine answers"
		return 1
	fi
	if [ -n "${REDIS_IMAGE:-}" ]; then
		image_at_hand "$REDIS_IMAGE" 300 || die "REDIS_IMAGE=$REDIS_IMAGE is not there and cannot be pulled"
	elif [ "$(uname -s)" = Linux ] && redis_server >/dev/null && "$ROOT/scripts/image.sh"; then
		REDIS_IMAGE=$LOCAL_IMAGE
	elif image_there "$LOCAL_IMAGE"; then
		REDIS_IMAGE=$LOCAL_IMAGE
	elif image_at_hand "$(official_image)" 60; then
		REDIS_IMAGE=$(official_image)
	else
		no_containers="there is no image of Redis: neither could $LOCAL_IMAGE be built nor $(official_image) be pulled"
		return 1
	fi
	export REDIS_IMAGE
}

left_out() { say "left out: $*"; }

# packages MODULE prints the packages to test. chosen MODULE prints the flag that chooses tests
# in them by test/slow.txt. The quick part begins with the package that takes longest, so that
# the others run beside it and not after it.
packages() {
	local slow
	slow=$(slow_tests "$1" | sed -n 's|^\./\(.*\) \*$|\1|p')
	if [ "$part" = slow ]; then
		slow_tests "$1" | awk '$2 != "*" { print $1 }' | sort -u
	elif [ "$part" != quick ] || [ -n "${PKG:-}" ] || [ -z "$slow" ]; then
		say "${PKG:-./...}"
	elif [ "$slow" = "..." ]; then
		[ -z "${MODULES:-}" ] || say ./... # it was asked for by its name
	else
		in_module "$1" go list -f '{{.Dir}}' ./... | sed "s|^$(cd "$ROOT/$1" && pwd)|.|" |
			{ grep -vxF "$(say "$slow" | sed 's|^|./|')" || true; } |
			awk '$0 == "./redlock" { print; next } { rest = rest $0 "\n" } END { printf "%s", rest }'
	fi
}
chosen() {
	local flag=-skip
	[ "$part" != slow ] || flag=-run
	[ "$part" = all ] || slow_tests "$1" | awk -v flag="$flag" \
		'$2 != "*" { names = names "|" $2 } END { if (names != "") print flag "=^(" substr(names, 2) ")$" }'
}

# tests MODULE… runs the tests of these modules and prints their events as JSON. It records
# which module failed.
tests() {
	local module packages whole
	for module in "$@"; do
		packages=$(packages "$module")
		# shellcheck disable=SC2046 # a flag, or none
		[ -z "$packages" ] || go_test "$module" "$packages" $(chosen "$module")
		whole=$(slow_tests "$module" | awk '$2 == "*" && $1 != "./sim" { print $1 }') # see beside
		[ "$part" != slow ] || [ -z "$whole" ] || go_test "$module" "$whole"
	done
}
go_test() {
	local module=$1 packages=$2 race=(${race[@]+"${race[@]}"})
	shift 2
	# Its tests are about rules for Prometheus, and take five times as long under the race
	# detector, which watches the same code of ours in other modules.
	if [ "$module" = test/alerts ] && [ ${#race[@]} != 0 ]; then
		race=()
		left_out "the race detector in $module" >>"$out/left-out"
	fi
	# shellcheck disable=SC2086 # GOTESTFLAGS and packages are lists of words
	in_module "$module" ${low:+nice -n 19} go test -json "${flags[@]}" ${race[@]+"${race[@]}"} "$@" ${GOTESTFLAGS:-} $packages ||
		printf 'FAIL\t%s\n' "$module" >>"$out/failed"
}

# beside MODULE… runs the tests that run beside the others. In the slow part that is the
# simulation: it computes in virtual time, whenever the others leave it a processor. Its test
# in real time runs with the others.
beside() {
	if [ "$part" != slow ]; then
		tests "$@"
	elif [ $# -gt 0 ]; then
		local low=1
		go_test test/proof ./sim '-skip=^TestRunsOverTCP$'
	fi
}

# events runs the tests of all modules. In the quick part modules that mostly wait for real
# masters run beside the others, and each module runs two packages at a time.
events() {
	local module beside='' others=''
	for module in $modules; do
		case $part:$module in
		quick:test/* | quick:contrib/*) beside="$beside $module" ;;
		slow:test/proof) beside=$module others="$others $module" ;;
		*) others="$others $module" ;;
		esac
	done
	# Nothing goes through this pipe. It lets an interrupt end both sides: a process
	# in the background would ignore the interrupt.
	# shellcheck disable=SC2086,SC2260 # both are lists of words
	beside $beside >"$out/beside" | tests $others
	cat "$out/beside"
}

# compile compiles the packages of the root module that the tests need, and prints its
# progress, because go test would be silent. Nothing is compiled twice.
compile() {
	local libraries
	case " $modules " in *" . "*) ;; *) return 0 ;; esac
	say "== compiling: a few minutes on a new machine, seconds where it was done before"
	# shellcheck disable=SC2086 # PKG is a list of words, and so is libraries
	libraries=$(go list -f '{{if ne .Name "main"}}{{if .GoFiles}}{{.ImportPath}}{{end}}{{end}}' ${PKG:-./...})
	# shellcheck disable=SC2086
	[ -z "$libraries" ] || go build -v ${race[@]+"${race[@]}"} $libraries 2>&1 |
		"${awk[@]}" 'NF == 1 { if (++n % 40 == 0) { print "   " n " packages"; fflush() } next } { print }'
}

cd "$ROOT"
need_go
part=${1:-all}
case $part in
all) say "== all tests" ;;
quick) say "== the tests to run before a commit" ;;
slow) say "== the tests that make test leaves out" ;;
*) die "usage: scripts/test.sh [quick | slow]" ;;
esac

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
trap 'exit 130' INT TERM
: >"$out/failed"
: >"$out/left-out"
: >"$out/left-out-by-tests"

say "go: $(go env GOVERSION)"
server=
if ensure_redis; then
	server=$(redis_version)
else
	left_out "tests on real masters: no redis-server" >>"$out/left-out"
fi
if [ "$part" = slow ]; then
	left_out "the tests of make test" >>"$out/left-out"
fi
if [ "$part" = quick ]; then
	left_out "what test/slow.txt names, the fault matrix, mutants and containers among it: make test-all" >>"$out/left-out"
elif choose_image; then
	say "docker: engine answers, tests in containers use $REDIS_IMAGE"
else
	left_out "tests in containers: $no_containers" >>"$out/left-out"
fi
# -count=1: an earlier result says nothing about the servers of this run, and Go's test
# cache does not see them. A -count in GOTESTFLAGS comes later and wins.
# -p 1: several packages start whole clusters and measure how they behave under a load that
# they make themselves. Quick tests make little load and mostly wait, so more of them run
# at a time than there are processors.
flags=(-count=1 -timeout "${TIMEOUT:-25m}")
# make lint runs go vet.
flags+=(-vet=off)
if [ "$part" = quick ]; then flags+=(-p 2 -parallel 6); else flags+=(-p 1); fi
race=()
if [ "${RACE:-1}" = 0 ]; then
	left_out "the race detector: RACE=0" >>"$out/left-out"
elif ensure_race; then
	# The simulated masters run the scripts in an interpreter that only one goroutine uses
	# at a time. Watching its memory too would make these tests take a quarter longer.
	race=(-race '-gcflags=github.com/yuin/gopher-lua/...=-race=false')
	# Else each program sleeps for a second at its end. Tests wait for their goroutines.
	export GORACE="atexit_sleep_ms=0 ${GORACE:-}"
elif [ -n "${CI:-}" ]; then
	die "the race detector cannot run here"
else
	left_out "the race detector: it cannot run here" >>"$out/left-out"
fi
modules=${MODULES:-}
if [ -z "$modules" ]; then
	modules=.
	[ -n "${PKG:-}" ] || modules=". $(nested_modules | tr '\n' ' ')"
fi
for module in $modules; do
	[ -f "$module/go.mod" ] || die "MODULES names $module, which holds no go.mod"
done
# By default mawk reads a whole block before it prints anything.
awk=(awk)
case $(awk -W version 2>&1 </dev/null) in mawk*) awk+=(-W interactive) ;; esac

compile
say "== testing: a line for each package as it ends, and all that failed tests say"
failed=0
events | "${awk[@]}" -v summary="$out/summary" -v leftout="$out/left-out-by-tests" -f scripts/closing.awk | tee "$out/shown" || failed=1
[ ! -s "$out/failed" ] || failed=1

say
say "== left out, besides the tests that were skipped${server:+, on redis-server $server}"
sort -u "$out/left-out" "$out/left-out-by-tests"
say
say "== closing lines of go test, $part"
awk '/^(ok  |\?   )\t/ && !seen[$0]++' "$out/shown"
awk '/^FAIL\t/ && !seen[$0]++' "$out/shown" "$out/failed"
cat "$out/summary"
exit "$failed"
