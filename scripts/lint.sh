#!/usr/bin/env bash
# Checks all modules by gofmt, go mod tidy and golangci-lint (which includes go vet and
# staticcheck), and the modules that users import by go vet for other systems. Checks the
# scripts by shellcheck if that is installed. Every check runs, even after one has failed.
# The linter is built at its first use, so nothing has to be installed.
#
#   MODULES      directories of the modules to check (all)
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

cd "$ROOT"
need_go
golangci=$(scripts/tool.sh golangci-lint)

failed=
# check NAME COMMAND… runs one check and remembers that it failed.
check() {
	local name=$1
	shift
	say "== $name"
	"$@" || failed="$failed
  $name"
}

formatted() {
	local files
	files=$(gofmt -s -l .) || return 1
	[ -z "$files" ] && return 0
	say "not formatted (gofmt -s -w .):"
	say "$files"
	return 1
}

# A built command was once in the tree for weeks.
small() {
	local large
	large=$(git ls-files -z | xargs -0 wc -c | awk '$1 > 300000 && $2 != "total"') || return 1
	[ -z "$large" ] && return 0
	say "files above 300 kB (built files do not belong in the tree):"
	say "$large"
	return 1
}

# The system calls for clocks, sockets and processes differ between systems. vet
# type-checks files that tests on this system never compile. For 32 bits it checks that
# every constant fits. Only the root module has files for single systems.
vet_as() { GOOS=${1%/*} GOARCH=${1#*/} CGO_ENABLED=0 go vet ./...; }

# Continuous integration would not test a module that the workflow does not name.
in_workflow() {
	local module missing=
	for module in . $(nested_modules); do
		grep -Eq "modules: (\"|.* )?$module( .*|\"|)}" .github/workflows/test.yml || missing="$missing $module"
	done
	[ -z "$missing" ] || { say ".github/workflows/test.yml does not test:$missing" && return 1; }
}

# A replace works only in the main module, so it would hide problems that all users have.
# A contrib module must require a release, such as v0.1.0 or v0.1.0-rc.1, not a commit.
publishable() {
	local module version status=0
	! grep -En '^(replace|exclude)\>' go.mod contrib/*/go.mod || status=1
	for module in $(contrib_modules); do
		version=$(sed -n -E "s|^(require)?[[:space:]]+$MODULE(/contrib/[a-z]+)? (v[^ ]+).*|\3|p" "$module/go.mod" | sort -u)
		if ! grep -qx "module $MODULE/$module" "$module/go.mod"; then
			say "$module/go.mod: the module has to be $MODULE/$module"
			status=1
		fi
		if [ "$version" = v0.0.0 ] || ! [[ $version =~ ^v[01]\.[0-9]+\.[0-9]+(-[a-z][a-z0-9.]*)?$ ]]; then
			say "$module/go.mod requires $MODULE ${version:-not at all}: want a release such as v0.1.0"
			status=1
		fi
	done
	return "$status"
}

# A test that was renamed would be among the quick tests again.
slow_tests_exist() {
	local module package test unknown=
	while read -r module package test; do
		case $module:$test in
		'#'* | : | *:'*') continue ;;
		esac
		grep -qs "^func $test(" "$module/$package"/*_test.go || unknown="$unknown $module/$package:$test"
	done <test/slow.txt
	[ -z "$unknown" ] || { say "test/slow.txt names tests that are not there:$unknown" && return 1; }
}

# Only the rooms below redlock start goroutines, and they know no Trace. So redlock/tracing.go
# calls a Trace on the goroutine of a call, or on the deliverer.
no_goroutines() { ! git grep -nE '^[^/]*(\bgo (func\b|[a-zA-Z.]+\()|\.Go\()' -- 'redlock/*.go' ':!*_test.go' ':!redlock/redlocktest'; }

check "gofmt" formatted
check "no goroutine of redlock itself" no_goroutines
check "slow tests" slow_tests_exist
check "tested modules" in_workflow
check "no large files" small
check "modules that users import" publishable
for module in ${MODULES:-. $(nested_modules)}; do
	[ -f "$module/go.mod" ] || die "MODULES names $module, which holds no go.mod"
	case $module in
	.) systems="linux/386 windows/amd64 freebsd/arm darwin/arm64" ;;
	contrib/*) systems=linux/386 ;;
	*) systems='' ;;
	esac
	for system in $systems; do
		check "go vet for $system: $module" in_module "$module" vet_as "$system"
	done
	check "go mod tidy: $module" in_module "$module" go mod tidy -diff
	check "golangci-lint: $module" in_module "$module" "$golangci" run --config "$ROOT/.golangci.yml" ./...
done

check "golangci-lint configuration" "$golangci" config verify --config "$ROOT/.golangci.yml"
if have shellcheck; then
	check "shellcheck" shellcheck scripts/*.sh .ci/run
else
	say "== shellcheck: left out, it is not installed (apt-get install shellcheck, brew install shellcheck)"
fi

[ -z "$failed" ] || die "lint failed:$failed"
say "lint: all checks passed"
