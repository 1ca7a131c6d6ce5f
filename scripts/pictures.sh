#!/usr/bin/env bash
# Records the command at a terminal, and draws docs/img/demo.svg and docs/img/chaos.svg
# of what it prints; docs/img/samefault.svg is drawn by the test that shows it. Needs
# script(1) of util-linux and a redis-server.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_go
have script || die "script(1) is needed, of util-linux"
have redis-server || die "a redis-server is needed"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$ROOT" && go build -o "$work/redlock-demo" ./cmd/redlock-demo)
(cd "$ROOT/tools/termpicture" && go build -o "$work/termpicture" .)

# record NAME COLUMNS ROWS COMMAND writes what the command prints at a terminal.
record() {
	(cd "$work" && TERM=xterm-256color script -qe -t"$1.timing" -c "stty cols $2 rows $3; $4" "$1.record" >/dev/null 2>&1)
}

# draw NAME COLUMNS TITLE OPTION… draws it.
draw() {
	local name=$1 cols=$2 title=$3
	shift 3
	"$work/termpicture" -timing "$work/$name.timing" -cols "$cols" -title "$title" -out "$ROOT/docs/img/$name.svg" "$@" "$work/$name.record"
	say "written: docs/img/$name.svg"
}

cat >"$work/faults.txt" <<'END'
1s   kill 1
3s   freeze 2
5s   cut 3
8s   heal 3
10s  restart 1
11s  thaw 2
14s  end
END

record demo 92 40 "./redlock-demo --spawn redis-server"
draw demo 92 "redlock-demo" -from "With fewer and fewer masters" -to "the books"
record chaos 92 24 "./redlock-demo chaos --spawn redis-server --script faults.txt"
draw chaos 92 "redlock-demo chaos" -at 2500ms,4500ms,7500ms,9500ms,13500ms
(cd "$ROOT/test/integration" && go test -count 1 -run '^TestTheSameFault' . -picture)
say "written: docs/img/samefault.svg"
