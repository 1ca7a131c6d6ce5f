#!/usr/bin/env bash
# Runs the five masters of deploy/compose.yaml.
#
#   scripts/compose.sh up          start them, wait until all are healthy
#   scripts/compose.sh down        stop them, remove their volumes and network
#   scripts/compose.sh demo ARG…   up, redlock-demo against them, down in any case
#   scripts/compose.sh check       the same without arguments; without an engine or
#                                  compose it says so and succeeds
#
#   REDIS_IMAGE  the image to run (the official one that the file names, or
#                redquorum/redis:local if that is not available)
#   UP_TIMEOUT   seconds to wait until all are healthy (60)
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

PROJECT=redquorum
MASTERS=redis://127.0.0.1:7101,redis://127.0.0.1:7102,redis://127.0.0.1:7103,redis://127.0.0.1:7104,redis://127.0.0.1:7105

# compose runs the compose plugin if it is installed, otherwise docker-compose.
compose() {
	local file=$ROOT/deploy/compose.yaml
	if docker compose version >/dev/null 2>&1; then
		docker compose -p "$PROJECT" -f "$file" "$@"
	elif have docker-compose; then
		docker-compose -p "$PROJECT" -f "$file" "$@"
	else
		die "neither docker compose nor docker-compose is installed: https://docs.docker.com/compose/install/"
	fi
}

# choose_image exports REDIS_IMAGE, the image that compose.yaml runs.
choose_image() {
	local official
	official=$(official_image)
	if [ -n "${REDIS_IMAGE:-}" ]; then
		image_at_hand "$REDIS_IMAGE" 300 || die "REDIS_IMAGE=$REDIS_IMAGE is not there and cannot be pulled"
	elif image_at_hand "$official" 60; then
		REDIS_IMAGE=$official
	else
		say "$official cannot be had: using $LOCAL_IMAGE, made of the redis-server installed here"
		"$ROOT/scripts/image.sh" || image_there "$LOCAL_IMAGE" || die "there is no image of Redis to run"
		REDIS_IMAGE=$LOCAL_IMAGE
	fi
	export REDIS_IMAGE
}

# states prints "NAME STATE HEALTH" of every container of the project.
states() {
	local ids
	ids=$(docker ps -aq --filter "label=com.docker.compose.project=$PROJECT")
	[ -n "$ids" ] || return 0
	# shellcheck disable=SC2086 # one word an id
	docker inspect -f '{{index .Config.Labels "com.docker.compose.service"}} {{.State.Status}} {{with .State.Health}}{{.Status}}{{end}}' $ids |
		LC_ALL=C sort
}

up() {
	choose_image
	compose up -d --remove-orphans
	local limit=${UP_TIMEOUT:-60} start=$SECONDS now
	while :; do
		now=$(states)
		if [ "$(grep -c ' running healthy$' <<<"$now")" = 5 ]; then
			say "five masters are healthy: $MASTERS"
			return 0
		fi
		if grep -q ' exited \| dead ' <<<"$now" || [ $((SECONDS - start)) -ge "$limit" ]; then
			compose logs --tail 20 >&2 || true
			warn "$now"
			die "not all five masters became healthy within $((SECONDS - start)) s (\`make down\` removes them)"
		fi
		sleep 1
	done
}

down() {
	compose down -v --remove-orphans --timeout 3
}

demo() {
	need_go
	trap down EXIT
	trap 'exit 130' INT TERM
	up
	(cd "$ROOT" && go run ./cmd/redlock-demo demo --masters "$MASTERS" "$@")
}

# check is for continuous integration. If no masters can run here, that is no failure.
check() {
	if ! engine_answers; then
		say "compose: left out, no Docker engine answers"
		return 0
	fi
	if ! docker compose version >/dev/null 2>&1 && ! have docker-compose; then
		say "compose: left out, neither docker compose nor docker-compose is installed"
		return 0
	fi
	need_go
	bin=$(mktemp -d)
	trap 'down >/dev/null 2>&1; rm -rf "$bin"' EXIT
	trap 'exit 130' INT TERM
	(cd "$ROOT" && go build -o "$bin/redlock-demo" ./cmd/redlock-demo)
	up
	"$bin/redlock-demo" demo --masters "$MASTERS"
	down
	[ -z "$(states)" ] || die "make down left something behind: $(states)"
	say "compose: five masters were started, used and removed"
}

verb=${1:-}
case "$verb$#" in
up1 | down1 | demo*) ;;
check1)
	check
	exit
	;;
*) die "usage: scripts/compose.sh up | down | demo ARG… | check" ;;
esac
engine_answers || die "no Docker engine answers: start one, or see https://docs.docker.com/engine/install/"
"$@"
