package simmaster

import (
	"slices"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/redquorum/redquorum/internal/script"
)

// The library's scripts are loaded, looked for, run and forgotten as any other.
func TestLibraryScriptsAreLoadedLikeOthers(t *testing.T) {
	m := start(t)
	c := dial(t, m)
	const other = "return 7"
	exist := func() (n [2]int64) {
		t.Helper()
		reply, err := redis.Int64s(c.Do("SCRIPT", "EXISTS", script.Release.SHA, script.SHA(other)))
		if err != nil {
			t.Fatal(err)
		}
		return [2]int64(reply)
	}
	want := func(reply any, err error, want string) {
		t.Helper()
		if got, err := redis.String(reply, err); err != nil || got != want {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
	if got := exist(); got != [2]int64{} {
		t.Errorf("at first: %v", got)
	}
	if _, err := c.Do("EVALSHA", script.Release.SHA, 1, "key", "token"); err == nil || err.Error()[:8] != "NOSCRIPT" {
		t.Errorf("EVALSHA before it is loaded: %v", err)
	}
	reply, err := c.Do("SCRIPT", "LOAD", script.Release.Source)
	want(reply, err, script.Release.SHA)
	reply, err = c.Do("SCRIPT", "LOAD", other)
	want(reply, err, script.SHA(other))
	if got := exist(); got != [2]int64{1, 1} {
		t.Errorf("loaded: %v", got)
	}
	alone, err := redis.Int64s(c.Do("SCRIPT", "EXISTS", script.Release.SHA, script.Extend.SHA))
	if err != nil || !slices.Equal(alone, []int64{1, 0}) {
		t.Errorf("two of the library, of which one is loaded: %v, %v", alone, err)
	}
	for _, source := range []string{script.Release.SHA, script.SHA(other)} {
		if n, err := redis.Int(c.Do("EVALSHA", source, 1, "key", "token")); err != nil || n == 0 {
			t.Errorf("EVALSHA: %d, %v", n, err)
		}
	}
	if _, err := c.Do("SCRIPT", "FLUSH"); err != nil {
		t.Fatal(err)
	}
	if got := exist(); got != [2]int64{} {
		t.Errorf("after SCRIPT FLUSH: %v", got)
	}
	if _, err := c.Do("EVAL", script.Release.Source, 1, "key", "token"); err != nil {
		t.Fatal(err)
	}
	if got := exist(); got != [2]int64{1, 0} {
		t.Errorf("after EVAL: %v", got)
	}
}
