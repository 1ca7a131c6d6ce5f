package simmaster

import (
	"strconv"
	"strings"

	"github.com/alicebob/miniredis/v2/server"
)

// answerScore refuses a command on a sorted set if a score is NaN or a LIMIT is not an integer, as
// Redis does, and reports whether it did. miniredis accepts NaN, and "+500" for a LIMIT. In args
// answerScore replaces a score of -0 by 0, as Redis does in a set of up to 128 members.
func answerScore(p *server.Peer, cmd string, args []string) bool {
	switch cmd {
	case "ZADD":
		for i := 1; i+1 < len(args); i++ { // flags stand before the first pair; no flag is a number
			if (len(args)-i)%2 != 0 {
				continue
			}
			if isNaN(args[i]) {
				p.WriteError("ERR value is not a valid float")
				return true
			}
			if strings.HasPrefix(args[i], "-0") {
				if score, err := strconv.ParseFloat(args[i], 64); err == nil && score == 0 {
					args[i] = "0"
				}
			}
		}
	case "ZCOUNT", "ZRANGEBYSCORE", "ZREVRANGEBYSCORE", "ZREMRANGEBYSCORE":
		for i := 3; i+2 < len(args); i++ {
			if !strings.EqualFold(args[i], "LIMIT") {
				continue
			}
			for _, n := range args[i+1 : i+3] {
				if _, ok := integer(n); !ok {
					p.WriteError("ERR value is not an integer or out of range")
					return true
				}
			}
		}
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
