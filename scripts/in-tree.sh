#!/usr/bin/env bash
# Runs a command in the directory of a module below contrib/, with the root module of
# this tree. Keeps the changes that the command makes to go.mod and go.sum:
#
#   scripts/in-tree.sh contrib/otel go test ./...
#   scripts/in-tree.sh contrib/otel go get go.opentelemetry.io/otel@latest
#   scripts/in-tree.sh contrib/otel go mod tidy
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

dir=${1:-}
dir=${dir%/}
[ $# -ge 2 ] || die "usage: scripts/in-tree.sh contrib/NAME COMMAND…"
case $dir in
contrib/*) [ -f "$ROOT/$dir/go.mod" ] || die "$dir holds no go.mod" ;;
*) die "$dir is not below contrib/: its go.mod has a replace, so any command works there" ;;
esac
shift
need_go
in_module "$dir" "$@"
case $1:${2:-} in
go:mod | go:get) ;;
*) exit ;;
esac

# The go command changed copies of go.mod and go.sum: copy the changes back, and put the
# sums of our releases back at their position in the order.
mod=$(tree_file "$dir" mod)
for module in $(ours "$dir" | cut -d' ' -f1); do
	go mod edit -dropreplace="$module" "$mod"
done
cmp -s "$mod" "$ROOT/$dir/go.mod" || cp "$mod" "$ROOT/$dir/go.mod"
released=$(grep "^${MODULE}[/ ]" "$ROOT/$dir/go.sum" || true)
released=$released LC_ALL=C awk -v module="$MODULE" '
	BEGIN { released = ENVIRON["released"] } # -v takes one line alone on macOS
	released != "" && $1 > module { print released; released = "" }
	{ print }
	END { if (released != "") print released }' "$(tree_file "$dir" sum)" >"$(tree_file "$dir" new)"
cmp -s "$(tree_file "$dir" new)" "$ROOT/$dir/go.sum" || cp "$(tree_file "$dir" new)" "$ROOT/$dir/go.sum"
