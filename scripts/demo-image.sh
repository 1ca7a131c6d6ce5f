#!/usr/bin/env bash
# Builds the image redquorum/redlock-demo:local from a binary that is compiled here.
# It replaces deploy/Dockerfile on machines that cannot pull the Go image.
#
#   GOARCH       the architecture of the image (this machine's)
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_go
engine_answers || die "no Docker engine answers: start one, or see https://docs.docker.com/engine/install/"
image=redquorum/redlock-demo:local

context=$(mktemp -d)
trap 'rm -rf "$context"' EXIT
trap 'exit 130' INT TERM
mkdir -p "$context/rootfs/etc/ssl/certs"
chmod -R 755 "$context"

(cd "$ROOT" && CGO_ENABLED=0 GOOS=linux go build -trimpath -ldflags '-s -w' -o "$context/rootfs/redlock-demo" ./cmd/redlock-demo)

# rediss:// needs these for masters with certificates of a public authority.
for bundle in /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/cert.pem; do
	if [ -r "$bundle" ]; then
		cp -L "$bundle" "$context/rootfs/etc/ssl/certs/ca-certificates.crt"
		break
	fi
done

build_image "$ROOT/deploy/Dockerfile.prebuilt" "$context" -t "$image" --platform "linux/$(go env GOARCH)"
bounded 30 docker run --rm --network none "$image" --help >/dev/null
say "image: built $image"
