package script

import (
	"regexp"
	"testing"
)

// Commands would not see a command whose name is not spelt out where it is called, or that is
// called by a local name of redis.call other than call or pcall.
func TestEveryCommandOfAScriptIsSpeltOut(t *testing.T) {
	comment := regexp.MustCompile(`--[^\n]*`)
	called := regexp.MustCompile(`\bp?call\([^,)]*`)
	spelt := regexp.MustCompile(`^p?call\(\s*'[A-Z]+'$`)
	ofLua := regexp.MustCompile(`^pcall\([a-z_]+$`) // catches errors of a function
	named := regexp.MustCompile(`[^\n]*redis\.p?call(?:[^(\n][^\n]*)?\n`)
	for _, s := range All {
		text := comment.ReplaceAllString(s.Source, "")
		for _, call := range called.FindAllString(text, -1) {
			if !spelt.MatchString(call) && !ofLua.MatchString(call) {
				t.Errorf("%s: %s: want the command's name, in capitals", s.Name, call)
			}
		}
		for _, line := range named.FindAllString(text, -1) {
			if line != "local keys, args, call = KEYS, ARGV, redis.call\n" {
				t.Errorf("%s: %s: want no other name than call", s.Name, line)
			}
		}
	}
}
