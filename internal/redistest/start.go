package redistest

import (
	"context"
	"os"
)

// RequireVariable is an environment variable. If it is 1, a missing redis-server fails tests
// instead of skipping them.
const RequireVariable = "REDQUORUM_REQUIRE_REDIS"

// TB is what Start needs of a testing.TB.
type TB interface {
	Helper()
	Cleanup(func())
	Failed() bool
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Skipf(format string, args ...any)
}

// Start starts n servers for a test. When the test is over it closes them and, if the test failed,
// shows the ends of their logs. If no redis-server can be run, the test is skipped; with
// REDQUORUM_REQUIRE_REDIS=1 in the environment it fails. If the configuration needs a movable
// clock, ACL or TLS, and there is none, the test is skipped.
func Start(tb TB, n int, cfg Config) *Cluster {
	tb.Helper()
	if err := Available(); err != nil {
		if os.Getenv(RequireVariable) == "1" {
			tb.Fatalf("%s=1, but %v", RequireVariable, err)
		} else {
			tb.Skipf("needs real redis-server processes: %v", err)
		}
		return nil
	}
	if cfg.MovableClock {
		if err := ClockAvailable(); err != nil {
			tb.Skipf("needs a redis-server whose clock can be moved: %v", err)
			return nil
		}
	}
	if err := Missing(cfg.Needs()...); err != nil {
		tb.Skipf("%v", err)
		return nil
	}
	c, err := LaunchN(context.Background(), n, cfg)
	if err != nil {
		tb.Fatalf("%v", err)
		return nil
	}
	tb.Cleanup(func() {
		err := c.Close()
		if tb.Failed() {
			for _, s := range c.Masters {
				tb.Logf("log of redis-server %s:\n%s", s.Addr(), s.Log())
			}
		}
		if err != nil {
			tb.Errorf("%v", err)
		}
	})
	return c
}
