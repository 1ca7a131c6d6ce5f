#!/usr/bin/env bash
# Prints the path of a tool of tools/go.mod. Builds it into bin/ if it is not there, or
# does not have the version that go.mod and the Go in use require.
#
#   scripts/tool.sh golangci-lint | benchstat | apidiff
#
# `go tool` is no alternative: linking golangci-lint alone takes longer than most of its
# runs. Linters also run in nested modules, which `go tool -modfile` would take for the
# module of the tools.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[ $# = 1 ] || die "usage: scripts/tool.sh TOOL"
need_go

cd "$ROOT/tools"
package=$(go mod edit -json | sed -n '/"Tool"/,/]/s|.*"Path": "\(.*/'"$1"'\)".*|\1|p')
[ -n "$package" ] || die "$1 is no tool of tools/go.mod"

# The digest covers every version that may end up in the binary.
stamp="$package $(go env GOVERSION) $(cat go.mod go.sum | cksum)"
if [ ! -x "$ROOT/bin/$1" ] || [ "$(cat "$ROOT/bin/.$1" 2>/dev/null)" != "$stamp" ]; then
	mkdir -p "$ROOT/bin"
	warn "building $1 into bin/ (once; golangci-lint takes some minutes)"
	go build -o "$ROOT/bin/$1.new" "$package"
	mv "$ROOT/bin/$1.new" "$ROOT/bin/$1" # never a half-written tool
	printf '%s\n' "$stamp" >"$ROOT/bin/.$1"
fi
printf '%s\n' "$ROOT/bin/$1"
