#!/usr/bin/env bash
# Builds redquorum/redis:local from the redis-server installed here: an image of
# Redis for machines that cannot reach a registry. It builds nothing if the image
# exists and was made from the same files.
#
# It works on Linux only, because the image contains files of this machine.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[ "$(uname -s)" = Linux ] || die "an image of Redis can be made of installed files on Linux only; elsewhere use the official one"
engine_answers || die "no Docker engine answers: start one, or see https://docs.docker.com/engine/install/"
ensure_redis >/dev/null || die "there is no redis-server to make an image of"
have redis-cli || die "redis-cli is not installed: the health checks in deploy/compose.yaml ask it"

context=$(mktemp -d)
trap 'rm -rf "$context"' EXIT
trap 'exit 130' INT TERM
rootfs=$context/rootfs
mkdir -p "$rootfs/usr/local/bin" "$rootfs/tmp" "$context/data"
chmod 755 "$context" "$rootfs"
chmod 1777 "$rootfs/tmp"

# The programs may be links (Debian's redis-server links to redis-check-rdb), and most
# libraries are. -L copies the target of a link under the name of the link.
cp -L "$(redis_server)" "$rootfs/usr/local/bin/redis-server"
cp -L "$(command -v redis-cli)" "$rootfs/usr/local/bin/redis-cli"

# ldd names the libraries as "name => /path (address)" and the loader as
# "/path (address)". For a static program it names none, and fails.
libraries=$({ ldd "$(redis_server)" || true; ldd "$(command -v redis-cli)" || true; } 2>/dev/null |
	awk '$2 == "=>" && $3 ~ /^\// { print $3 } $1 ~ /^\// { print $1 }' | LC_ALL=C sort -u)
library_path=
for library in $libraries; do
	dir=$(dirname "$library")
	mkdir -p "$rootfs$dir"
	cp -L "$library" "$rootfs$library"
	# The image has no ld.so.cache, so the loader needs the names of directories
	# beyond its own.
	case ":$library_path:" in
	*":$dir:"*) ;;
	*) library_path=${library_path:+$library_path:}$dir ;;
	esac
done

inputs=$(cd "$context" && {
	cat "$ROOT/deploy/redis-image/Dockerfile"
	find . -type f -print | LC_ALL=C sort | xargs cksum
} | cksum | tr ' ' -)
label=io.redquorum.inputs
if [ "$(docker image inspect -f "{{index .Config.Labels \"$label\"}}" "$LOCAL_IMAGE" 2>/dev/null)" = "$inputs" ]; then
	say "image: $LOCAL_IMAGE is up to date"
	exit 0
fi

build_image "$ROOT/deploy/redis-image/Dockerfile" "$context" -t "$LOCAL_IMAGE" \
	--label "$label=$inputs" --build-arg "LIBRARY_PATH=$library_path"

# A missing library is found here, not in the middle of a test.
version=$(bounded 30 docker run --rm --network none "$LOCAL_IMAGE" --version)
bounded 30 docker run --rm --network none --entrypoint redis-cli "$LOCAL_IMAGE" --version >/dev/null
say "image: built $LOCAL_IMAGE: $version"
