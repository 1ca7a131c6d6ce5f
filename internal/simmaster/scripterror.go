package simmaster

import (
	"fmt"
	"regexp"
)

// failedScript matches miniredis' answer for a script that failed while it ran: the prefix for
// scripts that do not compile, the line, what went wrong, and Lua's stack.
var failedScript = regexp.MustCompile(
	`^-ERR Error compiling script \(new function\): :(\d+): (?:([A-Z]{3,}) )?(.*?)(?: stack traceback:.*)?\r\n$`)

// likeRedis gives a script's error the form that it has in Redis. Clients use its first word, which
// is the code of the command that failed, or ERR if Lua failed.
func likeRedis(reply []byte) []byte {
	m := failedScript.FindSubmatch(reply)
	if m == nil {
		return reply
	}
	if len(m[2]) == 0 {
		return fmt.Appendf(nil, "-ERR user_script:%s: %s on @user_script:%s.\r\n", m[1], m[3], m[1])
	}
	return fmt.Appendf(nil, "-%s %s on @user_script:%s.\r\n", m[2], m[3], m[1])
}
