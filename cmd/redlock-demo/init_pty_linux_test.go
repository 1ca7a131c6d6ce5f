package main

import (
	"maps"
	"strings"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/cmd/internal/app"
	"github.com/redquorum/redquorum/internal/guard"
	"github.com/redquorum/redquorum/internal/redistest"
)

// The prompt is that of release, whose test has more answers.
func TestAnInitIsConfirmedAtTheTerminal(t *testing.T) {
	t.Parallel()
	absent, without := processes(t, 3, redistest.Config{})
	kill(t, absent.Masters[2])
	fleet, forced := processes(t, 3, redistest.Config{})
	initialize(t, forced)
	away := absent.Masters[2].Addr()
	for _, test := range []struct {
		master *redistest.Server
		args   []string
		level  string // once it was confirmed
		says   string
	}{
		{absent.Masters[0], []string{"--masters", without, "--without", away}, "standard", "These masters are absent, and are taken for new ones: " + away + ".\r\nThe others vote at once."},
		{fleet.Masters[0], []string{"--masters", forced, "--guard", "strict", "--force"}, "strict", "The fleet becomes: 3 masters, strict, longest TTL 1m0s."},
	} {
		marker := func() map[string]string {
			fields, err := redis.StringMap(test.master.Do("HGETALL", guard.Key))
			if err != nil {
				t.Fatal(err)
			}
			return fields
		}
		before := marker()
		for i, typed := range []string{"no\n", "yes\n"} {
			term := onTerminal(t, command(t, []string{"TERM=xterm"}, append([]string{"init"}, test.args...)...))
			term.await(t, "Type yes to go on: ")
			term.press(t, typed)
			code, text := term.end(t)
			after := marker()
			if code != []int{app.ExitUsage, 0}[i] || i == 0 && !maps.Equal(after, before) || i == 1 && after["level"] != test.level || !strings.Contains(text, test.says) {
				t.Errorf("%q, %q: exit code %d, %+v\n%s", test.args, typed, code, after, text)
			}
		}
	}
}
