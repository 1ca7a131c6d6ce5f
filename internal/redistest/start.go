package redistest

import (
	"context"
	"os"
)

// RequireVariable is the environment variable that turns the skipping of tests
// for want of a redis-server into failures, when it is set to 1.
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

// Start starts n servers for a test, which ends them when it is over and, if it
// failed, shows the ends of their logs. Where no redis-server can be run the test
// is skipped; with REDQUORUM_REQUIRE_REDIS=1 in the environment it fails. Where
// Config.MovableClock cannot be had, or the server lacks ACL or TLS and the
// configuration needs it, the test is skipped.
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
