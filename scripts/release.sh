#!/usr/bin/env bash
# Makes a release: docs/project/releasing.md says how, and what it promises.
#
#   scripts/release.sh VERSION        checks, writes VERSION into CHANGELOG.md and the
#                                     go.mod files below contrib/, commits, tags, builds.
#                                     It does not push, but prints how to
#   scripts/release.sh build VERSION  builds the command of that tag into dist/
#   scripts/release.sh notes VERSION  prints its section of CHANGELOG.md
#
#   TESTS        directories of the modules to test, such as ". contrib/otel" (all)
#   BRANCH       the branch from which releases are made (main)
#   PLATFORMS    platforms of the commands (linux and darwin on amd64 and arm64)
#   REHEARSAL=1  without lint, tests, release-check and a check of the branch: for
#                scripts/release-check.sh, which releases in a clone
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

released_platforms() { say linux/amd64 linux/arm64 darwin/amd64 darwin/arm64; }

# tags VERSION prints the tags in the order in which they are made. The root's tag is
# first, because the others require it.
tags() {
	say "$1"
	contrib_modules | sed "s|\$|/$1|"
}

ready_to_tag() {
	local tag branch
	[ -z "$(git status --porcelain)" ] || die "the tree is not clean: commit or stash what git status shows"
	[[ $1 =~ ^v[01]\. ]] || die "$1 needs module paths that end with /${1%%.*}"
	[ "$(next_version)" = "$1 unreleased" ] ||
		die "CHANGELOG.md has to begin with the section \"## ${1#v} (unreleased)\"; it begins with $(next_version)"
	notes "$1" >/dev/null
	for tag in $(tags "$1"); do
		! git rev-parse -q --verify "refs/tags/$tag" >/dev/null || die "the tag $tag is there already; a version is never made twice"
	done
	[ "${REHEARSAL:-}" != 1 ] || return 0
	branch=$(git symbolic-ref -q --short HEAD || true)
	[ "$branch" = "${BRANCH:-main}" ] || die "releases are made of the branch ${BRANCH:-main}, not of ${branch:-a commit without a branch}"
}

passes_tests() {
	[ "${REHEARSAL:-}" != 1 ] || return 0
	scripts/lint.sh
	MODULES=${TESTS:-} scripts/test.sh
	scripts/release-check.sh
	[ -z "$(git status --porcelain)" ] || die "the checks changed the tree: $(git status --porcelain)"
}

# commit_and_tag commits the date in the changelog, the releases that the contrib modules
# require, and their checksums. The checksums are known before the release is published,
# because no module's zip contains files of another module. Tags are made twice, because a
# module may require one that was tagged before it.
commit_and_tag() {
	local tag module work required
	work=$(mktemp -d)
	sed "s/^## ${1#v} (unreleased)\$/## ${1#v} ($(date -u +%Y-%m-%d))/" CHANGELOG.md >"$work/changelog"
	cat "$work/changelog" >CHANGELOG.md
	git commit -q -a -m "Release $1"
	git tag "$1"
	for module in $(contrib_modules); do
		sed "\|^${MODULE}[/ ]|d" "$module/go.sum" >"$work/sum" # those of older versions
		cat "$work/sum" >"$module/go.sum"
		required=$(ours "$module" | sed "s| .*|@$1|")
		# shellcheck disable=SC2086 # required is a list of words
		(cd "$module" && from_clone "$ROOT" "$work/modcache" -mod=mod go get $required) ||
			die "$module cannot require $1; git tag -d \$(git tag -l $1 '*/$1') && git reset --hard HEAD~ takes back what was done"
		git commit -q -a --amend --no-edit
		git tag "$module/$1"
	done
	rm -r "$work"
	for tag in $(tags "$1"); do
		git tag -d "$tag" >/dev/null
	done
	for tag in $(tags "$1"); do
		git tag -a -m "Release $1" "$tag"
		say "tagged $tag"
	done
}

sha256() { if have sha256sum; then sha256sum "$@"; else shasum -a 256 "$@"; fi; }

# build makes the programs that a release offers for download. The go command puts the
# version of the tag into them.
build() {
	local platform program name here
	[ "$(git rev-parse -q --verify "refs/tags/$1^{commit}")" = "$(git rev-parse HEAD)" ] || die "HEAD is not $1"
	[ -z "$(git status --porcelain)" ] || die "the tree is not what was tagged: see git status"
	rm -rf dist
	mkdir dist
	for platform in ${PLATFORMS:-$(released_platforms)}; do
		for program in redlock redlock-demo; do
			name=${program}_$1_${platform%/*}_${platform#*/}
			CGO_ENABLED=0 GOOS=${platform%/*} GOARCH=${platform#*/} \
				go build -trimpath -buildvcs=true -ldflags '-s -w' -o "dist/$name" "./cmd/$program"
		done
	done
	(cd dist && sha256 redlock* >SHA256SUMS)
	for program in redlock redlock-demo; do
		here=dist/${program}_$1_$(go env GOHOSTOS)_$(go env GOHOSTARCH)
		if [ -x "$here" ]; then
			[ "$("$here" --version)" = "$program $1" ] || die "$here says that it is $("$here" --version)"
		fi
	done
	say "built into dist/:"
	cat dist/SHA256SUMS
}

# notes prints the version's section of the changelog without its heading. It is for pages
# outside the repository: its links lead to the files at the tag.
notes() {
	local text
	text=$(awk -v heading="## ${1#v} (" '/^## / { on = index($0, heading) == 1; next } on && (NF || begun) { begun = 1; print }' CHANGELOG.md |
		sed -E "s#\]\(([A-Za-z0-9_./-]+\.md)#](https://$MODULE/blob/$1/\1#g")
	[ -n "$text" ] || die "CHANGELOG.md says nothing of $1"
	say "$text"
}

release() {
	ready_to_tag "$1"
	passes_tests "$1"
	commit_and_tag "$1"
	build "$1"
	[ "${REHEARSAL:-}" = 1 ] || say "
nothing is published yet. To publish $1, all tags at once:
    git push --atomic origin ${BRANCH:-main} $(tags "$1" | tr '\n' ' ')
To take it back before that:
    git tag -d $(tags "$1" | tr '\n' ' ')&& git reset --hard HEAD~"
}

need_go
cd "$ROOT"
case $#:${1:-} in
2:build | 2:notes) verb=$1 version=$2 ;;
1:v*) verb=release version=$1 ;;
*) die "usage: make release VERSION=v0.1.0, or scripts/release.sh build | notes VERSION" ;;
esac
"$verb" "$version"
