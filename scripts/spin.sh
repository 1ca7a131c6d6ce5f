#!/usr/bin/env bash
# Checks the Promela model of the fencing tokens, verification/fence.pml, with
# spin: every state of it is visited. Each known mistake has to be found, and
# none without them. What spin says of a mistake that is found is the way there:
#   spin -t -p -g <switches> verification/fence.pml
# in a directory with the .trail file, which KEEP=dir keeps.
#
#   QUICK=1      only what takes seconds: the mistakes, and the smaller models
#   MEMORY       bound of one check in MB (3500)
#   SECONDS_EACH bound of one check (900)
#   KEEP         directory in which to leave the .trail files
#   NO_INSTALL=1 installs nothing
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_tools() {
	have spin || install_packages spin || true
	have spin || die "spin is not installed, and could not be installed from here:
    Debian, Ubuntu   sudo apt-get install spin
    macOS            brew install spin
    elsewhere        https://spinroot.com"
	c_compiler || install_packages gcc libc6-dev || true
	c_compiler || die "spin's verifier needs a C compiler: gcc, clang or cc"
}

# c_compiler finds one and names it in CC.
c_compiler() {
	local name
	for name in ${CC:-} cc gcc clang; do
		if have "$name"; then
			CC=$name
			return 0
		fi
	done
	return 1
}

model=$ROOT/verification/fence.pml
need_tools
say "$(spin -V)"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# What the verifier said, from its log.
stored() { sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' "$1" | tail -n 1; }
depth() { sed -n 's/.*depth reached \([0-9]*\),.*/\1/p' "$1"; }
errors() { sed -n 's/.*errors: \([0-9]*\)$/\1/p' "$1"; }
elapsed() { sed -n 's/^pan: elapsed time \([0-9.e+-]*\) seconds.*/\1/p' "$1"; }

# verdict LOG prints holds, violated, or why neither is known.
verdict() {
	local found
	found=$(errors "$1")
	if [ -z "$found" ]; then
		echo "the verifier did not end"
	elif [ "$found" != 0 ]; then
		echo "violated: $(sed -n 's/^pan:[0-9]*: assertion violated (\(.*\)) (at depth.*/\1/p' "$1" | head -n 1)"
	elif grep -q -e 'Search not completed' -e 'max search depth too small' "$1"; then
		echo "not all states visited"
	else
		echo "holds"
	fi
}

failed=
# check NAME holds|violated SWITCH… checks one variant of the model.
check() {
	local name=$1 want=$2 dir log got
	shift 2
	dir=$(mktemp -d "$work/XXXXXX")
	log=$dir/log
	(
		cd "$dir"
		spin -a "$@" "$model" >"$log" 2>&1
		"$CC" -O2 -w -DSAFETY -DCOLLAPSE -DMEMLIM="${MEMORY:-3500}" -o pan pan.c >>"$log" 2>&1
		bounded "${SECONDS_EACH:-900}" ./pan -m100000 >>"$log" 2>&1
	) || true # what is wrong shows in the log
	got=$(verdict "$log")
	say "| $name | \`$*\` | $(stored "$log") | $(depth "$log") | $(elapsed "$log") s | $got |"
	if [ "${got%%:*}" != "$want" ]; then
		failed="$failed
  $name: want $want"
		cat "$log" >&2
	fi
	if [ -n "${KEEP:-}" ] && [ -e "$dir/fence.pml.trail" ]; then
		mkdir -p "$KEEP"
		cp "$dir/fence.pml.trail" "$KEEP/${name// /-}.trail"
	fi
	rm -rf "$dir"
}

say "| variant | switches | states | depth | time | result |"
say "|---|---|---|---|---|---|"
check "raise if still the owner" violated -DRAISE_IF_OWNER
check "no raise" violated -DNO_RAISE
check "plain counter, amnesia" violated -DAMNESIA=1 -DSTRAYS=0 -DNO_FLOOR
check "amnesia, quarantine too short" violated -DAMNESIA=1 -DSTRAYS=0 -DQ=2
check "no late command" holds -DSTRAYS=0
if [ "${QUICK:-}" != 1 ]; then
	check "locks set again" holds -DSTRAYS=0 -DRESET
	check "amnesia" holds -DAMNESIA=1 -DSTRAYS=0 -DQ=3
	check "late commands" holds
fi

[ -z "$failed" ] || die "not as it has to be:$failed"
say "spin: all as it has to be"
