# shellcheck shell=bash
# The scripts beside this file share these functions. Source this file, do not run it.
#
# It has to work with bash 3.2, the bash of macOS: no mapfile, no associative arrays,
# no empty array expanded under `set -u`.
#
# NO_INSTALL=1 keeps every script from installing packages.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export ROOT

MODULE=github.com/redquorum/redquorum

# Each module is built by its own go.mod, even if there is a go.work.
export GOWORK=off

# These are the image that `make image` builds, and the default image of compose.yaml.
# shellcheck disable=SC2034 # used by those who source this
LOCAL_IMAGE=redquorum/redis:local
official_image() {
	# shellcheck disable=SC2016 # the ${…} is the text to look for
	sed -n 's/.*\${REDIS_IMAGE:-\([^}]*\)}.*/\1/p' "$ROOT/deploy/compose.yaml" | head -n 1
}

say() { printf '%s\n' "$*"; }
warn() { printf '%s\n' "$*" >&2; }
die() {
	printf 'error: %s\n' "$*" >&2
	exit 1
}
have() { command -v "$1" >/dev/null 2>&1; }

# bounded SECONDS COMMAND… runs a command that must not hang. macOS has no
# timeout(1); perl's alarm survives exec and also ends the command.
bounded() {
	local seconds=$1
	shift
	if have timeout; then
		timeout "$seconds" "$@"
	elif have gtimeout; then
		gtimeout "$seconds" "$@"
	elif have perl; then
		perl -e 'alarm shift; exec @ARGV or exit 127' "$seconds" "$@"
	else
		"$@"
	fi
}

# need_go ends the script if there is no Go, or only an older one than go.mod requires. Go 1.21
# and later fetch the newer version themselves; older ones would only report missing packages.
need_go() {
	local wants is
	wants=$(sed -n 's/^go \([0-9]*\.[0-9]*\).*/\1/p' "$ROOT/go.mod")
	have go || die "needs Go $wants, and there is none on the PATH: https://go.dev/dl/"
	is=$(cd "$ROOT" && go env GOVERSION) || die "needs Go $wants, this is $(GOTOOLCHAIN=local go version): https://go.dev/dl/"
	[[ ! $is =~ ^go1\.([0-9]+) ]] || [ "${BASH_REMATCH[1]}" -ge "${wants#1.}" ] ||
		die "needs Go $wants, this is ${is#go}: https://go.dev/dl/"
}

# nested_modules prints the directories of all modules except the root, relative to it, one
# per line. It leaves out directories that the go command ignores, and tools/, which has
# versions and no packages.
nested_modules() {
	(cd "$ROOT" && find . -mindepth 2 \( -name '.?*' -o -name '_*' -o -name testdata -o -name vendor -o -path ./bin -o -path ./tools/go.mod \) -prune \
		-o -name go.mod -print) | sed -e 's|^\./||' -e 's|/go\.mod$||' | LC_ALL=C sort
}

# slow_tests MODULE prints what test/slow.txt leaves to `make test-all`, one per line: a
# package and a test, or "*" for the whole package.
slow_tests() { awk -v module="$1" '$1 == module { print $2, $3 }' "$ROOT/test/slow.txt"; }

# in_module DIR COMMAND… runs a command in a module's directory. Modules below contrib/ are
# built with the root module of this tree, whatever release their go.mod requires: by a
# workspace file in bin/, or by another go.mod there for commands that ignore workspaces.
# docs/project/releasing.md says why their own go.mod has no replace.
in_module() {
	local dir=$1
	shift
	case $dir:$1:${2:-} in
	contrib/*:go:mod | contrib/*:go:get)
		tree_modfile "$dir"
		(cd "$ROOT/$dir" && GOFLAGS="$(go env GOFLAGS) -modfile=$(tree_file "$dir" mod)" "$@")
		;;
	contrib/*)
		tree_workspace "$dir"
		(cd "$ROOT/$dir" && GOWORK=$(tree_file "$dir" work) "$@")
		;;
	*) (cd "$ROOT/$dir" && "$@") ;;
	esac
}

tree_file() { printf '%s/bin/tree/%s.%s\n' "$ROOT" "${1//\//-}" "$2"; }

# ours DIR prints the modules of this tree that a module below contrib/ requires, and their
# directories, one per line.
ours() {
	sed -n -E "s|^(require)?[[:space:]]+($MODULE(/contrib/[a-z]+)?) v.*|\2|p" "$ROOT/$1/go.mod" | sed "s|^$MODULE\(.*\)|& $ROOT\1|"
}

# tree_workspace DIR writes a workspace with only the module, and replaces our modules that it
# requires. It is not enough to add them as further modules: go.work would still need the
# required releases to exist.
tree_workspace() {
	mkdir -p "$ROOT/bin/tree"
	{
		printf '%s\n\nuse %s\n\n' "$(grep '^go ' "$ROOT/$1/go.mod")" "$ROOT/$1"
		ours "$1" | sed 's/\(.*\) \(.*\)/replace \1 => \2/'
	} >"$(tree_file "$1" work)"
}

# tree_modfile DIR writes a copy of the module's go.mod with replaces, and of its go.sum
# without the sums of our releases, which are not needed with the replaces.
tree_modfile() {
	local module dir
	mkdir -p "$ROOT/bin/tree"
	cp "$ROOT/$1/go.mod" "$(tree_file "$1" mod)"
	while read -r module dir; do
		go mod edit -replace="$module=$dir" "$(tree_file "$1" mod)"
	done < <(ours "$1")
	sed "\|^${MODULE}[/ ]|d" "$ROOT/$1/go.sum" >"$(tree_file "$1" sum)"
}

# contrib_modules prints the directories of the nested modules that users import.
contrib_modules() { (cd "$ROOT" && printf '%s\n' contrib/*/go.mod) | sed 's|/go\.mod$||'; }

# next_version prints the version of the newest section of CHANGELOG.md, and either
# "unreleased" or its date.
next_version() {
	sed -n -E 's/^## ([0-9]+\.[0-9]+\.[0-9]+[^ ]*) \((unreleased|[0-9]{4}-[0-9]{2}-[0-9]{2})\)$/v\1 \2/p' "$ROOT/CHANGELOG.md" | head -n 1
}

# from_clone DIR CACHE FLAG COMMAND… runs a go command that fetches our modules by their tags
# in the repository DIR, instead of the published repository. CACHE is a separate module cache,
# so that our modules come only from DIR, and no unpublished version stays. Third-party modules
# come from this machine's cache, and from the network only if they are not there. GOSUMDB=off:
# the checksum database does not know unpublished versions, and third-party modules were checked
# when they were downloaded. FLAG is one more flag for GOFLAGS, or empty.
from_clone() {
	local dir=$1 cache=$2 flag=$3
	shift 3
	GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=url.file://$dir.insteadOf GIT_CONFIG_VALUE_0=https://$MODULE \
		GOPRIVATE=$MODULE GOPROXY="file://$(go env GOMODCACHE)/cache/download,$(go env GOPROXY)" \
		GOMODCACHE=$cache GOSUMDB=off GOFLAGS="-trimpath -modcacherw $flag" "$@"
}

# install_packages PACKAGE… installs Debian packages as root, or by sudo. It fails if that is
# not possible; without a terminal sudo must need no password.
install_packages() {
	[ "${NO_INSTALL:-}" != 1 ] || return 1
	have apt-get || return 1
	local as=()
	if [ "$(id -u)" != 0 ]; then
		have sudo || return 1
		if [ -t 0 ]; then as=(sudo); else as=(sudo -n); fi
	fi
	say "installing $* (apt-get; NO_INSTALL=1 prevents it)"
	local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=120)
	bounded 300 ${as[@]+"${as[@]}"} "${apt[@]}" update ||
		warn "apt-get update failed; trying with the package lists that are there"
	bounded 600 ${as[@]+"${as[@]}"} "${apt[@]}" install -y --no-install-recommends "$@" >/dev/null || return 1
	hash -r
}

# redis_server prints the path of the redis-server in use. REDIS_SERVER may name it; the tests
# use that variable too.
redis_server() { command -v "${REDIS_SERVER:-redis-server}"; }

# redis_version prints the version of the redis-server in use.
redis_version() { "$(redis_server)" --version | sed -n 's/.* v=\([^ ]*\).*/\1/p'; }

# server_of_image IMAGE FILE copies the server out of an official image of Redis or Valkey. It
# fails if the server does not run on this machine.
server_of_image() {
	local image=$1 file=$2 container name status=1
	image_at_hand "$image" 300 >/dev/null || die "$image is not there and cannot be pulled"
	container=$(docker create "$image") || die "no container can be made of $image"
	# Most images of Valkey have redis-server as a link.
	for name in redis-server valkey-server; do
		if docker cp -L "$container:/usr/local/bin/$name" "$file" >/dev/null 2>&1; then
			status=0
			break
		fi
	done
	docker rm "$container" >/dev/null
	[ "$status" = 0 ] || die "$image has neither redis-server nor valkey-server in /usr/local/bin"
	"$file" --version || die "the server of $image does not run here"
}

# ensure_redis finds or installs redis-server, which most tests of failures need. It then
# exports REDQUORUM_REQUIRE_REDIS=1: a test that does not find the server fails instead of
# being skipped. Returns 1 if there is no redis-server.
ensure_redis() {
	if [ -z "${REDIS_SERVER:-}" ] && ! have redis-server && install_packages redis-server; then
		say "note: the package may also have started a Redis of its own on port 6379; nothing here uses it"
	fi
	if redis_server >/dev/null; then
		say "redis-server: $(redis_server), version $(redis_version)"
		export REDQUORUM_REQUIRE_REDIS=1
		return 0
	fi
	if [ -n "${REDIS_SERVER:-}" ]; then
		warn "REDIS_SERVER=$REDIS_SERVER names no program that can be run"
	else
		warn "redis-server is not installed, and could not be installed from here. To install it:"
		warn "    Debian, Ubuntu   sudo apt-get install redis-server"
		warn "    Fedora           sudo dnf install redis"
		warn "    Alpine           apk add redis"
		warn "    macOS            brew install redis"
	fi
	[ "${REDQUORUM_REQUIRE_REDIS:-}" != 1 ] || die "REDQUORUM_REQUIRE_REDIS=1 asks for redis-server"
	return 1
}

# c_compiler_works reports whether cgo can build. The race detector needs cgo.
c_compiler_works() {
	local cc
	cc=$(go env CC)
	printf '#include <stdlib.h>\nint main(void) { return 0; }\n' |
		${cc:-cc} -x c -fsyntax-only - >/dev/null 2>&1
}

# ensure_race finds or installs what `go test -race` needs. Returns 1 if that fails. On
# macOS the race detector needs no C compiler.
ensure_race() {
	[ "$(go env GOOS)" != darwin ] || return 0
	if [ "${CGO_ENABLED:-}" = 0 ]; then
		warn "CGO_ENABLED=0 is set in the environment: the race detector needs cgo"
		return 1
	fi
	c_compiler_works || install_packages gcc libc6-dev || true
	if c_compiler_works; then
		export CGO_ENABLED=1
		return 0
	fi
	warn "there is no working C compiler, which the race detector needs. To install one:"
	warn "    Debian, Ubuntu   sudo apt-get install gcc libc6-dev"
	warn "    Fedora           sudo dnf install gcc glibc-devel"
	warn "    Alpine           apk add gcc musl-dev"
	return 1
}

# engine_answers reports whether a Docker engine answers.
engine_answers() {
	have docker && bounded 10 docker version --format '{{.Server.Version}}' >/dev/null 2>&1
}

# image_there IMAGE reports whether the engine has the image.
image_there() { docker image inspect "$1" >/dev/null 2>&1; }

# image_at_hand IMAGE SECONDS reports whether the engine has the image, or can pull it
# within that time.
image_at_hand() {
	image_there "$1" && return 0
	say "pulling $1 (at most $2 s)"
	bounded "$2" docker pull -q "$1"
}

# build_image DOCKERFILE CONTEXT FLAG… builds an image, and shows the builder's output only
# if it fails.
build_image() {
	local dockerfile=$1 context=$2 log
	shift 2
	if ! log=$(docker build "$@" -f "$dockerfile" "$context" 2>&1); then
		warn "$log"
		die "docker build failed"
	fi
}
