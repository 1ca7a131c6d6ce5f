package simmaster

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2/server"
)

// miniredis accepts all integers that Go parses, "+500" too, and its expiries overflow after 292
// years. The code here refuses what Redis refuses, and what only miniredis cannot keep.

// maxExpiry is the longest time to live, and the furthest from 1970 that a key
// may expire.
const maxExpiry = 250 * 365 * 24 * time.Hour

// answerExpiry refuses a command that sets an expiry if Redis would refuse the expiry, and reports
// whether it has answered. It also executes a PEXPIREAT for the present millisecond. That deletes
// the key at once, while a key that got this expiry before lives until the next millisecond.
func (m *Master) answerExpiry(srv *server.Server, p *server.Peer, cmd string, args []string) bool {
	i, unit := expiryOf(cmd, args)
	if i < 0 {
		return false
	}
	n, ok := integer(args[i])
	if !ok {
		p.WriteError("ERR value is not an integer or out of range")
		return true
	}
	limit := int64(maxExpiry / unit)
	if n > limit || n <= 0 && cmd == "SET" {
		p.WriteError("ERR invalid expire time in '" + strings.ToLower(cmd) + "' command")
		return true
	}
	instead := max(n, -limit) // the same limit for the past
	if cmd == "PEXPIREAT" && n == m.clock.read.UnixMilli() {
		instead = n - 1
	}
	if instead == n {
		return false
	}
	args = slices.Clone(args)
	args[i] = strconv.FormatInt(instead, 10)
	srv.Dispatch(p, append([]string{cmd}, args...))
	return true
}

// expiryOf finds the expiry among a command's arguments. i is -1 if there is none, or if the
// command is malformed, which miniredis refuses.
func expiryOf(cmd string, args []string) (i int, unit time.Duration) {
	switch cmd {
	case "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT":
		if len(args) < 2 {
			return -1, 0
		}
		unit = time.Second
		if cmd[0] == 'P' {
			unit = time.Millisecond
		}
		return 1, unit
	case "SET":
		for i := 2; i+1 < len(args); i++ {
			switch strings.ToUpper(args[i]) {
			case "EX", "EXAT":
				return i + 1, time.Second
			case "PX", "PXAT":
				return i + 1, time.Millisecond
			}
		}
	}
	return -1, 0
}

// integer reads a number as Redis does: a minus is the only sign, no leading zeros, no blanks.
func integer(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == s
}
