#!/usr/bin/env bash
# Compares the public API with that of the newest tagged version, by apidiff
# (golang.org/x/exp), and prints the changes. Fails if a program that compiles with
# that version may no longer compile, unless the first version in CHANGELOG.md may
# break programs: before 1.0 a new minor version may, from 1.0 on a new major version
# (docs/reference/servers.md).
#
#   BASE         the version to compare with (the newest tag that HEAD has)
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

cd "$ROOT"
need_go
base=${BASE:-$(git describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null || true)}
if [ -z "$base" ]; then
	say "api-diff: no version is tagged yet"
	exit 0
fi
apidiff=$(scripts/tool.sh apidiff)

work=$(cd "$(mktemp -d)" && pwd -P)
cleanup() {
	git worktree remove --force "$work/tree" 2>/dev/null || true
	rm -rf "$work"
}
trap cleanup EXIT
git worktree add --quiet --detach "$work/tree" "$base"

# packages prints what users can import, as "MODULE FOLDER".
packages() {
	(cd "$1" && go list -f '{{if ne .Name "main"}}{{.Dir}}{{end}}' ./...) | sed -e "s|^$1/||" | grep -v -e '^internal/' -e '/internal/' | sed 's|^|. |'
	(cd "$1" && for module in contrib/*/; do say "${module%/} ."; done)
}

# export_api TREE MODULE FOLDER FILE writes what a package exports into FILE.
export_api() {
	case $2 in
	.) (cd "$1" && "$apidiff" -w "$4" "$MODULE/$3") ;;
	*) (cd "$1" && scripts/in-tree.sh "$2" "$apidiff" -w "$4" "$MODULE/$2") ;;
	esac
}

packages "$work/tree" >"$work/packages"
broken=
while read -r module folder; do
	name="$module/$folder"
	name=${name#./}
	name=${name%/.}
	export_api "$work/tree" "$module" "$folder" "$work/old"
	if ! export_api "$ROOT" "$module" "$folder" "$work/new" 2>"$work/error"; then
		say "$name: gone, or it does not build: $(head -n 3 "$work/error")"
		broken=1
		continue
	fi
	changes=$("$apidiff" "$work/old" "$work/new")
	[ -z "$changes" ] || say "$name since $base:" "$changes"
	[ -z "$("$apidiff" -incompatible "$work/old" "$work/new")" ] || broken=1
done <"$work/packages"

# may_break VERSION prints the part of a version that has to change if programs may break.
may_break() { say "$1" | sed -E 's/^(v0\.[0-9]+|v[1-9][0-9]*).*/\1/'; }

next=$(next_version)
next=${next%% *}
if [ -n "$broken" ] && [ "$(may_break "$next")" = "$(may_break "$base")" ]; then
	die "programs that compile with $base may not compile with $next, the version that CHANGELOG.md begins with"
fi
say "api-diff: $next may be what it is after $base"
