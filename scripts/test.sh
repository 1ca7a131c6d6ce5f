#!/usr/bin/env bash
# Runs the tests of all modules under the race detector, after setting up what
# they need. The last lines are the go command's own closing lines; what was
# skipped, and why, stands before them.
#
#   PKG          packages of the root module to test, and nothing else (./...)
#   MODULES      directories of the modules to test, and nothing else (all)
#   GOTESTFLAGS  further flags of go test, such as "-run Lock -count 3"
#   TIMEOUT      bound of a package's tests (25m)
#   RACE=0       without the race detector
#   REDQUORUM_REQUIRE_REDIS=1  fail, rather than skip, without redis-server;
#                set by itself once redis-server was found or installed
#   REDIS_SERVER the redis-server to test against (the one on the PATH)
#   REDIS_IMAGE  the image for tests in containers (what `make image` builds)
#   NO_INSTALL=1 installs nothing
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# choose_image sees to an image for the tests in containers and exports its name
# as REDIS_IMAGE. Returns 1, with the reason in no_containers, where none runs.
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

cd "$ROOT"
need_go

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
trap 'exit 130' INT TERM
: >"$out/closing"
: >"$out/skipped"
: >"$out/left-out"

say "go: $(go env GOVERSION)"
ensure_redis || say "tests on real masters: no redis-server" >>"$out/left-out"
if choose_image; then
	say "docker: engine answers, tests in containers use $REDIS_IMAGE"
else
	say "tests in containers: $no_containers" | tee -a "$out/left-out"
fi
# -count=1: what passed earlier says nothing about the servers of this run, and
# Go's cache does not see them. A -count in GOTESTFLAGS comes later and wins.
# One package at a time: several of them start whole clusters and look at how
# they behave under a load that they make themselves.
flags=(-count=1 -p 1 -timeout "${TIMEOUT:-25m}")
if [ "${RACE:-1}" = 0 ]; then
	say "the race detector: RACE=0" >>"$out/left-out"
elif ensure_race; then
	flags+=(-race)
elif [ -n "${CI:-}" ]; then
	die "the race detector cannot run here"
else
	say "the race detector: it cannot run here" >>"$out/left-out"
fi

# The report filter of the tools module needs nothing beyond Go's own library.
mkdir -p bin
(cd tools && go build -o "$ROOT/bin/testreport" ./testreport)

packages=${PKG:-./...}
if [ -n "${MODULES:-}" ]; then
	modules=$MODULES
elif [ -n "${PKG:-}" ]; then
	modules=.
else
	modules=". $(nested_modules | tr '\n' ' ')"
fi

failed=0
for module in $modules; do
	[ -f "$module/go.mod" ] || die "MODULES names $module, which holds no go.mod"
	say "== go test: $module"
	: >"$out/module"
	status=0
	# shellcheck disable=SC2086 # GOTESTFLAGS and PKG are lists of words
	in_module "$module" go test -json "${flags[@]}" ${GOTESTFLAGS:-} $packages |
		bin/testreport -closing "$out/module" -skipped "$out/skipped" || status=$?
	if [ "$status" != 0 ]; then
		failed=1
		# Go had not come as far as a package: a broken go.mod, say.
		grep -q '^FAIL' "$out/module" ||
			printf 'FAIL\t%s\t[go test ended with exit status %s before any package failed]\n' "$module" "$status" >>"$out/module"
	fi
	cat "$out/module" >>"$out/closing"
done

say
if redis_server >/dev/null; then
	say "== left out, on redis-server $(redis_version)"
else
	say "== left out"
fi
if [ -s "$out/left-out" ] || [ -s "$out/skipped" ]; then
	cat "$out/left-out" "$out/skipped"
else
	say "nothing: no test was skipped"
fi
say
say "== go test, all modules"
cat "$out/closing"
exit "$failed"
