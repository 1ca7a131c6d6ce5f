#!/usr/bin/env bash
# Checks that a release of this tree, as it is now, can be fetched and used, and that it
# breaks no program that its version may not break. It makes the release in a clone. Then an
# empty module gets all modules that users import by their tags, and builds and runs a program
# with them. No replace and no workspace is involved.
#
# Third-party modules come from this machine's module cache, and from the network only if
# they are not there.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_go
have git || die "git is needed"
"$ROOT/scripts/api-diff.sh"
max_zip=2000000
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
tree=$work/tree

# clone_tree makes a clone. Its last commit is the tree as it is now, including files that
# are neither committed nor ignored.
clone_tree() {
	export GIT_AUTHOR_NAME=rehearsal GIT_AUTHOR_EMAIL=rehearsal@example.test
	export GIT_COMMITTER_NAME=rehearsal GIT_COMMITTER_EMAIL=rehearsal@example.test
	git clone -q --no-checkout "$ROOT" "$tree"
	git --git-dir="$tree/.git" --work-tree="$ROOT" add -A
	git -C "$tree" commit -q --allow-empty -m "The tree as it stands"
	git -C "$tree" checkout -q -f HEAD
}

# rehearse makes the next release in the clone. Right after a release CHANGELOG.md has no
# section for the next one yet; the clone then gets one for this check.
rehearse() {
	local state
	read -r version state < <(in_clone next_version)
	if [ "$state" != unreleased ]; then
		version=${version%.*}.$((${version##*.} + 1))
		in_clone awk -v heading="## ${version#v} (unreleased)" \
			'/^## / && !done { print heading "\n\n- A rehearsal.\n"; done = 1 } { print }' CHANGELOG.md >"$work/changelog"
		cp "$work/changelog" "$tree/CHANGELOG.md"
		git -C "$tree" commit -q -a -m "Begin the next version"
	fi
	in_clone env REHEARSAL=1 PLATFORMS="$(go env GOHOSTOS)/$(go env GOHOSTARCH)" scripts/release.sh "$version"
}

# in_clone COMMAND… runs a command or a function of lib.sh as if the clone were the
# repository.
# shellcheck disable=SC2030,SC2031 # ROOT is meant to change in here alone
in_clone() { (ROOT=$tree && cd "$tree" && "$@"); }

as_users_do() { from_clone "$tree" "$work/modcache" "$goflags" "$@"; }

# consume gets, builds and runs the program in an empty module.
consume() {
	local modules module versions=() goflags=-mod=mod
	modules=$MODULE
	for module in $(in_clone contrib_modules); do
		modules="$modules $MODULE/$module"
	done
	for module in $modules; do
		versions+=("$module@$version")
	done
	mkdir "$work/consumer"
	cd "$work/consumer"
	go mod init example.test/consumer 2>/dev/null
	as_users_do go get "${versions[@]}" 2>"$work/get" || die "go get failed: $(cat "$work/get")"
	cp "$tree/scripts/testdata/consumer/main.go" .
	as_users_do go build -o consumer .
	./consumer
	as_users_do go list -deps -f '{{with .Module}}{{.Path}}{{end}}' . >"$work/used"
	for module in $modules; do
		[ "$(as_users_do go list -m -f '{{.Version}} {{.Replace}}' "$module")" = "$version <nil>" ] ||
			die "the program was not built with $module $version"
		grep -q "^$module$" "$work/used" || die "the program does not use $module"
		[ "$(wc -c <"$work/modcache/cache/download/$module/@v/$version.zip")" -le "$max_zip" ] ||
			die "the zip of $module has more than $max_zip bytes: whoever imports it downloads it"
	done
	say "got, built and ran: $modules"
}

# install_command installs the commands as users do, by go install.
install_command() {
	local goflags='' program
	cd "$work"
	for program in redlock redlock-demo; do
		GOBIN=$work/bin as_users_do go install "$MODULE/cmd/$program@$version"
		[ "$("$work/bin/$program" --version)" = "$program $version" ] ||
			die "the installed command says that it is $("$work/bin/$program" --version)"
		say "installed: $("$work/bin/$program" --version)"
	done
}

# vet_as_tagged builds each contrib module with its tests by its own go.mod and go.sum, as
# after a checkout of the tag.
vet_as_tagged() {
	local module goflags=-mod=readonly
	for module in $(in_clone contrib_modules); do
		cd "$tree/$module"
		as_users_do go vet ./...
		say "builds at its tag: $module"
	done
}

clone_tree
rehearse
consume
install_command
vet_as_tagged
say "release-check: $version can be released"
