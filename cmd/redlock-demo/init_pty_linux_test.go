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

// The prompt is the same as that of release. The test of release tries more answers.
func TestAnInitIsConfirmedAtTheTerminal(t *testing.T) {
	t.Parallel()
	fleet, forced := processes(t, 3, redistest.Config{})
	initialize(t, forced)
	marker := func() map[string]string {
		fields, err := redis.StringMap(fleet.Masters[0].Do("HGETALL", guard.Key))
		if err != nil {
			t.Fatal(err)
		}
		return fields
	}
	before := marker()
	for i, typed := range []string{"no\n", "yes\n"} {
		term := onTerminal(t, command(t, []string{"TERM=xterm"}, "init", "--masters", forced, "--guard", "strict", "--force"))
		term.await(t, "Type yes to go on: ")
		term.press(t, typed)
		code, text := term.end(t)
		after := marker()
		if code != []int{app.ExitUsage, 0}[i] || i == 0 && !maps.Equal(after, before) || i == 1 && after["level"] != "strict" || !strings.Contains(text, "The fleet becomes: 3 masters, strict, longest TTL 1m0s.") {
			t.Errorf("%q: exit code %d, %+v\n%s", typed, code, after, text)
		}
	}
}
