package script

import (
	"regexp"
	"slices"
	"testing"
)

func TestCommandsAreReadFromTheTextsOfScripts(t *testing.T) {
	for name, test := range map[string]struct {
		scripts []*Script
		want    []string
	}{
		"release":    {[]*Script{Release}, []string{"del", "get"}},
		"two":        {[]*Script{Verify, AcquireAll}, []string{"exists", "get", "set"}},
		"with parts": {[]*Script{ReleaseSet}, []string{"del", "exists", "mget", "pexpire", "publish", "time", "type", "zadd", "zrange", "zrem", "zscore"}},
		"local name": {[]*Script{newScript("", "local call = redis.call\nif call('EXISTS', 'DEL') then redis.pcall( 'PTTL', k) end")}, []string{"exists", "pttl"}},
		"none":       {nil, nil},
	} {
		if got := Commands(test.scripts...); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// What Commands would not see: a command whose name is not spelt out where it is
// called, and a local name of redis.call other than call or pcall.
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
