package redistest

import (
	"regexp"

	"github.com/gomodule/redigo/redis"
)

// wrapped is how a server older than Redis 7.0 begins an error that ended a script:
// "ERR Error running script (call to f_…): @user_script:3: ". The script and line come twice if
// the server refused to run the command at all.
var wrapped = regexp.MustCompile(`^ERR Error running script \(call to \w+\): (?:@user_script: ?\d+: )+-?`)

var codePattern = regexp.MustCompile(`^[A-Z]+\b`)

// Code returns the first word of an error reply, which is the kind of the error: WRONGTYPE,
// READONLY, ERR. A server older than Redis 7.0 puts a text of its own before an error that ended
// a script; Code skips that text.
func Code(reply redis.Error) string {
	text := wrapped.ReplaceAllString(string(reply), "")
	if code := codePattern.FindString(text); code != "" {
		return code
	}
	return "ERR"
}
