package simmaster

import (
	"strings"

	"github.com/alicebob/miniredis/v2/server"
)

// answerScore refuses a command on a sorted set that has a NaN for a score, as
// Redis does, and reports whether it did: miniredis takes it for a number.
func answerScore(p *server.Peer, cmd string, args []string) bool {
	switch cmd {
	case "ZADD":
		for i := 1; i+1 < len(args); i++ { // flags stand before the first pair; no flag is a number
			if isNaN(args[i]) && (len(args)-i)%2 == 0 {
				p.WriteError("ERR value is not a valid float")
				return true
			}
		}
	case "ZCOUNT", "ZRANGEBYSCORE", "ZREVRANGEBYSCORE", "ZREMRANGEBYSCORE":
		if len(args) >= 3 && (isNaN(args[1]) || isNaN(args[2])) {
			p.WriteError("ERR min or max is not a float")
			return true
		}
	}
	return false
}

func isNaN(s string) bool {
	return strings.EqualFold(strings.TrimLeft(s, "(+-"), "nan")
}
